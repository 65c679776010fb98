import { InputError } from "../../errors.ts";
import { type Context, forEach, type Steps } from "../../graphql/core/context.ts";
import { idOf, quote } from "../../graphql/core/ids.ts";
import type { Experiment } from "../../graphql/core/refs.ts";
import { isLoaded, load } from "../../graphql/core/resource.ts";
import { compareText, firstOf } from "../../graphql/core/steps.ts";
import { finite } from "../../graphql/types/series.ts";
import { durationSeconds, STATE, statusOf } from "../../graphql/types/status.ts";
import { receivedConfig } from "../../rest/api/run-config.ts";
import { entriesOf, valueAt } from "../../rest/api/record.ts";
import type { ExperimentRecord } from "../../rest/api/records.ts";
import type { Cell } from "./formats.ts";

export type ExportedRun = typeof Experiment.$inferType;

/** A column: the keys of the runs' records that it needs, and its cells, which may be of a part of a run. `now` is in milliseconds. */
interface Column<Part = unknown> {
  readonly keys: readonly (keyof ExperimentRecord)[];
  cellOf(run: ExportedRun, part: Part, now: number): Cell;
  /** Writes the cell as JSON in steps, where it may be as long as the record; null where there is none. */
  readonly jsonOf?: (run: ExportedRun) => Steps<string | null>;
}

export type NamedColumn<Part = unknown> = Column<Part> & { readonly name: string };

export type Columns<Part = unknown> = Readonly<Record<string, Column<Part>>>;

/** A column with a key of the record, unchanged. */
const shown = (key: keyof ExperimentRecord): Column => ({
  keys: [key],
  cellOf: ({ loaded }) => loaded[key] ?? null,
});

/** The columns that every run has, by the names of the fields of `Experiment`. */
const FIXED_COLUMNS: Columns = {
  id: { keys: [], cellOf: (run) => idOf(run) },
  uniqueName: {
    keys: ["unique_name"],
    cellOf: ({ loaded, kind, address }) => loaded.unique_name ?? kind.formatName(address),
  },
  name: shown("name"),
  description: shown("description"),
  user: shown("user"),
  status: { keys: ["last_status"], cellOf: ({ loaded }) => statusOf(loaded.last_status) },
  tags: shown("tags"),
  experimentGroup: shown("experiment_group"),
  buildJob: shown("build_job"),
  original: shown("original"),
  createdAt: shown("created_at"),
  updatedAt: shown("updated_at"),
  startedAt: shown("started_at"),
  finishedAt: shown("finished_at"),
  durationSeconds: { keys: STATE, cellOf: ({ loaded }, _, now) => durationSeconds(loaded, now) },
};

/** The columns that are there only where they are named: known lists do not tell them. */
const OF_RECORDS: Columns = {
  readme: shown("readme"),
  config: { keys: ["config"], cellOf: ({ loaded }) => receivedConfig(loaded.config) },
  framework: shown("framework"),
  jobCount: shown("num_jobs"),
  resources: shown("resources"),
  dataReferences: shown("data_refs"),
  runEnvironment: shown("run_env"),
};

/**
 * The columns whose names runs bring along, by their prefix: with values of the key of the record, whose names are the rest
 * of the column's name.
 */
const NAMED = {
  "param.": { key: "declarations", cellOf: (value: unknown): Cell => value ?? null },
  "metric.": { key: "last_metric", cellOf: finite },
} as const;

function columnNamed<Part>(name: string, columns: Columns<Part>): Column<Part> | null {
  if (Object.hasOwn(columns, name)) return columns[name] ?? null;
  for (const [prefix, { key, cellOf }] of Object.entries(NAMED)) {
    const inner = name.slice(prefix.length);
    if (!name.startsWith(prefix) || inner === "") continue;
    return { keys: [key], cellOf: ({ loaded }) => cellOf(valueAt(loaded[key], inner)) };
  }
  return null;
}

/** Columns by their names: those of runs, and of a part of them. Throws `InputError` for a name that none has. */
export function columnsOf<Part>(names: readonly string[], ofParts?: Columns<Part>): NamedColumn<Part>[] {
  const columns: Columns<Part> = { ...ofParts, ...FIXED_COLUMNS, ...OF_RECORDS };
  return names.map((name) => {
    const column = columnNamed(name, columns);
    if (column) return { name, ...column };
    const known = [...Object.keys(columns), ...Object.keys(NAMED).map((prefix) => `${prefix}<name>`)];
    throw new InputError(`columns: expected ${known.join(", ")}, got ${quote(name)}`);
  });
}

/**
 * Most parameters, and most metrics, that are columns when the caller names none, and most characters of their names: a page
 * can have some ten thousand, and each line of NDJSON repeats them.
 */
const MOST_NAMED = 500;
const MOST_CHARACTERS = 16_384;

/** Memory of an entry of a map besides the characters of its name, in bytes. */
const COLUMN_NAME_BYTES = 64;

/** The names of the parameters and metrics of some runs, each sorted: all, or those that most runs have. */
function* namesIn(runs: readonly ExportedRun[]): Steps<{ names: readonly string[]; areAll: boolean }> {
  const names: string[] = [];
  let areAll = true;
  for (const [prefix, { key }] of Object.entries(NAMED)) {
    const counts = new Map<string, number>();
    for (const { loaded } of runs)
      yield* forEach(entriesOf(loaded[key]), ([name]) => {
        const count = counts.get(name) ?? 0;
        counts.set(name, count + 1);
        return count === 0 ? COLUMN_NAME_BYTES + name.length : 0;
      });
    const frequent = yield* firstOf(counts, MOST_NAMED, ([one, ofOne], [other, ofOther]) =>
      ofOne === ofOther ? compareText(one, other) : ofOther - ofOne,
    );
    let characters = 0;
    const fitting = frequent.flatMap(([name]) =>
      (characters += name.length) <= MOST_CHARACTERS ? [prefix + name] : [],
    );
    if (fitting.length < counts.size) areAll = false;
    names.push(...fitting.toSorted());
  }
  return { names, areAll };
}

/**
 * The columns when the caller names none: those that the first rows of the list tell, and their parameters and metrics. What runs
 * have besides stands in the last one, as one JSON object, where the list goes on or has more names than columns may have.
 */
export function* columnsIn(first: readonly ExportedRun[], isWhole: boolean): Steps<readonly NamedColumn[]> {
  const fixed = Object.entries(FIXED_COLUMNS).flatMap(([name, { keys }]) =>
    first.every(({ loaded }) => keys.every((key) => key in loaded)) ? [name] : [],
  );
  const { names, areAll } = yield* namesIn(first);
  const columns = columnsOf([...fixed, ...names]);
  if (isWhole && areAll) return columns;
  const known = new Set(names);
  return [
    ...columns,
    { name: "others", keys: [], cellOf: () => null, jsonOf: (run) => othersOf(run, known) },
  ];
}

function* othersOf({ loaded }: ExportedRun, known: ReadonlySet<string>): Steps<string | null> {
  const others = new Map<string, string>();
  let bytes = 0;
  for (const [prefix, { key, cellOf }] of Object.entries(NAMED))
    yield* forEach(entriesOf(loaded[key]), ([rest, value]) => {
      const name = prefix + rest;
      if (known.has(name) || others.has(name)) return 0;
      const cell = JSON.stringify(cellOf(value));
      others.set(name, cell);
      // Once as an entry, and once in the text.
      const added = COLUMN_NAME_BYTES + 2 * (name.length + cell.length);
      bytes += added;
      return added;
    });
  if (others.size === 0) return null;
  let json = "";
  yield* forEach(others, ([name, cell]) => {
    json += `${json === "" ? "" : ","}${JSON.stringify(name)}:${cell}`;
  });
  // The entries go, and the text follows soon.
  yield -bytes;
  return `{${json}}`;
}

/** The keys of records that columns need. */
export const keysOf = (columns: readonly NamedColumn<never>[]): readonly (keyof ExperimentRecord)[] => [
  ...new Set(columns.flatMap((column) => column.keys)),
];

/** Loads keys that the row of a list does not tell. */
export const loadFor = async (
  keys: readonly (keyof ExperimentRecord)[],
  run: ExportedRun,
  { session }: Context,
): Promise<ExportedRun> =>
  isLoaded(run, keys, session.server) ? run : { ...run, loaded: await load(run, keys, session) };
