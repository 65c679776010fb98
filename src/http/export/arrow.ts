import {
  AsyncByteQueue,
  Bool,
  type DataType,
  Field,
  Float64,
  Int32,
  makeBuilder,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Utf8,
} from "apache-arrow";
import { UpstreamError } from "../../errors.ts";
import type { Cell } from "./csv.ts";
import { rowsAtOnce, type Writer } from "./formats.ts";
import { OTHERS } from "./run-columns.ts";

/** The types of columns that are known without a row; null: that of the first rows. */
function typeNamed(name: string): DataType | null {
  if (name === "step") return new Int32();
  if (name === "value" || name.endsWith("Seconds") || name === "secondsSinceStart") return new Float64();
  if (name.startsWith("metric.")) return new Float64();
  return name.startsWith("param.") ? null : new Utf8();
}

/** The type of values: numbers and booleans as such, all else, and what is mixed, as text. */
function typeOf(values: readonly Cell[]): DataType {
  const given = values.filter(isGiven);
  if (given.length > 0 && given.every((value) => typeof value === "number")) return new Float64();
  if (given.length > 0 && given.every((value) => typeof value === "boolean")) return new Bool();
  return new Utf8();
}

const isGiven = (value: Cell): boolean => value !== null && value !== undefined;

/** A value as the type of its column has it; undefined when it has no such value. */
function valueAs(type: DataType, value: Cell): unknown {
  if (!isGiven(value)) return null;
  if (type instanceof Utf8) return typeof value === "string" ? value : JSON.stringify(value);
  const expected = type instanceof Bool ? "boolean" : "number";
  return typeof value === expected ? value : undefined;
}

/** Gives away what is written: the queue of the package can only be waited for. */
class Written extends AsyncByteQueue<Uint8Array> {
  take(): Uint8Array {
    // oxlint-disable-next-line no-underscore-dangle -- the name is the package's
    return Buffer.concat(this._values.splice(0));
  }
}

/**
 * Writes an Arrow IPC stream, a record batch for each part, or for some of its rows where they are wide. A parameter has the type of its values in the first part. A later
 * value of another type stands in the column `others`; a file that was asked for by names of columns has none, and fails.
 */
export function arrowWriter(columns: readonly string[]): Writer {
  const bytes = new Written();
  const writer = new RecordBatchStreamWriter();
  let schema: Schema | null = null;

  const begin = (rows: readonly (readonly Cell[])[]): Schema => {
    if (schema) return schema;
    const fields = columns.map(
      (name, index) => new Field(name, typeNamed(name) ?? typeOf(rows.map((row) => row[index])), true),
    );
    schema = new Schema(fields);
    writer.reset(bytes, schema);
    return schema;
  };

  /** The row in the types of the columns. */
  const typed = ({ fields }: Schema, row: readonly Cell[]): readonly unknown[] => {
    const unfit: Record<string, unknown> = {};
    const values = fields.map(({ name, type }, index) => {
      const value = valueAs(type, row[index]);
      if (value !== undefined) return value;
      unfit[name] = row[index];
      return null;
    });
    const [first] = Object.keys(unfit);
    if (first === undefined) return values;
    const others = columns.indexOf(OTHERS);
    if (others < 0)
      throw new UpstreamError("CONFLICT", `${first} changes its type: another format of the export has it.`);
    values[others] = JSON.stringify({ ...Object(row[others]), ...unfit });
    return values;
  };

  return {
    part: () => {
      const rows: (readonly Cell[])[] = [];
      return {
        add: (cells) => void rows.push(cells),
        *take() {
          const known = begin(rows);
          const most = rowsAtOnce(rows.length, columns.length);
          do {
            const batch = rows.splice(0, most).map((row) => typed(known, row));
            if (batch.length > 0) writer.write(batchOf(known, batch));
            yield bytes.take();
          } while (rows.length > 0);
        },
      };
    },
    end: () => {
      begin([]);
      writer.finish();
      return bytes.take();
    },
  };
}

function batchOf(schema: Schema, rows: readonly (readonly unknown[])[]): RecordBatch {
  const children = schema.fields.map(({ type }, index) => {
    const builder = makeBuilder({ type, nullValues: [null] });
    for (const row of rows) builder.append(row[index]);
    return builder.finish().flush();
  });
  return new RecordBatch(
    schema,
    makeData({ type: new Struct(schema.fields), length: rows.length, nullCount: 0, children }),
  );
}
