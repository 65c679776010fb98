import { InputError } from "../../errors.ts";
import type { Context } from "../../graphql/core/context.ts";
import { forEach, type CooperativeTask } from "../../util/cooperative-task.ts";
import { idOf, quote } from "../../graphql/core/ids.ts";
import type { Experiment } from "../../graphql/core/refs.ts";
import { isLoaded, load } from "../../graphql/core/resource.ts";
import { compareText, firstOf } from "../../graphql/core/cooperative-algorithms.ts";
import { finite } from "../../graphql/types/series.ts";
import { durationSeconds, STATE, statusOf } from "../../graphql/types/status.ts";
import { receivedConfig } from "../../rest/api/run-config.ts";
import { entriesOf, valueAt } from "../../rest/api/record.ts";
import type { ExperimentRecord } from "../../rest/api/records.ts";
import type { Cell } from "./formats.ts";

export type ExportedRun = typeof Experiment.$inferType;

/**
 * A column: the keys of run records that it needs, and a function that returns its cell for a run. `detail` distinguishes several rows of
 * one run. `now` is in milliseconds since 1970.
 */
interface Column<Detail = unknown> {
  readonly keys: readonly (keyof ExperimentRecord)[];
  cellOf(run: ExportedRun, detail: Detail, now: number): Cell;
  /** Writes the cell as JSON, in steps because it may be as long as the record; null if the cell is empty. */
  readonly jsonOf?: (run: ExportedRun) => CooperativeTask<string | null>;
}

export type NamedColumn<Detail = unknown> = Column<Detail> & {
  readonly name: string;
  /** Whether the cell is the same in all rows of a run. */
  readonly isOfRun: boolean;
};

export type Columns<Detail = unknown> = Readonly<Record<string, Column<Detail>>>;

/** A column that shows a key of the record unchanged. */
const unchanged = (key: keyof ExperimentRecord): Column => ({
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
  name: unchanged("name"),
  description: unchanged("description"),
  user: unchanged("user"),
  status: { keys: ["last_status"], cellOf: ({ loaded }) => statusOf(loaded.last_status) },
  tags: unchanged("tags"),
  experimentGroup: unchanged("experiment_group"),
  buildJob: unchanged("build_job"),
  original: unchanged("original"),
  createdAt: unchanged("created_at"),
  updatedAt: unchanged("updated_at"),
  startedAt: unchanged("started_at"),
  finishedAt: unchanged("finished_at"),
  durationSeconds: { keys: STATE, cellOf: ({ loaded }, _, now) => durationSeconds(loaded, now) },
};

/** Columns that are exported only if the caller names them, because the lists of known servers lack their keys. */
const OF_RECORDS: Columns = {
  readme: unchanged("readme"),
  config: { keys: ["config"], cellOf: ({ loaded }) => receivedConfig(loaded.config) },
  framework: unchanged("framework"),
  jobCount: unchanged("num_jobs"),
  resources: unchanged("resources"),
  dataReferences: unchanged("data_refs"),
  runEnvironment: unchanged("run_env"),
};

/**
 * Columns of parameters and metrics, by the prefix of their names. The rest of a column's name is the name of the parameter or metric.
 * `key` is the key of the record that contains the parameters or metrics.
 */
const NAMED = {
  "parameter.": { key: "declarations", cellOf: (value: unknown): Cell => value ?? null },
  "metric.": { key: "last_metric", cellOf: finite },
} as const;

function columnNamed<Detail>(name: string, columns: Columns<Detail>): Column<Detail> | null {
  if (Object.hasOwn(columns, name)) return columns[name] ?? null;
  for (const [prefix, { key, cellOf }] of Object.entries(NAMED)) {
    const inner = name.slice(prefix.length);
    if (!name.startsWith(prefix) || inner === "") continue;
    return { keys: [key], cellOf: ({ loaded }) => cellOf(valueAt(loaded[key], inner)) };
  }
  return null;
}

/** Returns the columns with these names, among the columns of runs and `extra`. Throws `InputError` for an unknown name. */
export function columnsOf<Detail>(names: readonly string[], extra?: Columns<Detail>): NamedColumn<Detail>[] {
  const columns: Columns<Detail> = { ...extra, ...FIXED_COLUMNS, ...OF_RECORDS };
  return names.map((name) => {
    const column = columnNamed(name, columns);
    if (column) return { name, isOfRun: !Object.hasOwn(extra ?? {}, name), ...column };
    const known = [...Object.keys(columns), ...Object.keys(NAMED).map((prefix) => `${prefix}<name>`)];
    throw new InputError(`columns: expected ${known.join(", ")}, got ${quote(name)}`);
  });
}

/**
 * Maximum number of parameters, and of metrics, that become columns if the caller names no columns. `MOST_CHARACTERS`: maximum total length
 * of their names. A page can have about ten thousand names, and each line of NDJSON repeats them.
 */
const MOST_NAMED = 500;
const MOST_CHARACTERS = 16_384;

/** Memory of a map entry in addition to the characters of its name, in bytes. */
const COLUMN_NAME_BYTES = 64;

/** The sorted column names for the parameters and metrics of some runs: all names, or the most frequent ones. */
function* namesIn(
  runs: readonly ExportedRun[],
): CooperativeTask<{ names: readonly string[]; areAll: boolean }> {
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
 * The columns if the caller names none: the fixed columns whose keys the first rows have, and the parameters and metrics of these rows. If
 * the list has more rows or more names, a last column `others` contains the other parameters and metrics of a run as one JSON object.
 */
export function* columnsIn(
  first: readonly ExportedRun[],
  isWhole: boolean,
): CooperativeTask<readonly NamedColumn[]> {
  const fixed = Object.entries(FIXED_COLUMNS).flatMap(([name, { keys }]) =>
    first.every(({ loaded }) => keys.every((key) => key in loaded)) ? [name] : [],
  );
  const { names, areAll } = yield* namesIn(first);
  const columns = columnsOf([...fixed, ...names]);
  if (isWhole && areAll) return columns;
  const known = new Set(names);
  return [
    ...columns,
    { name: "others", isOfRun: true, keys: [], cellOf: () => null, jsonOf: (run) => othersOf(run, known) },
  ];
}

function* othersOf({ loaded }: ExportedRun, known: ReadonlySet<string>): CooperativeTask<string | null> {
  const others = new Map<string, string>();
  let bytes = 0;
  for (const [prefix, { key, cellOf }] of Object.entries(NAMED))
    yield* forEach(entriesOf(loaded[key]), ([rest, value]) => {
      const name = prefix + rest;
      if (known.has(name) || others.has(name)) return 0;
      const cell = JSON.stringify(cellOf(value));
      others.set(name, cell);
      // The cell is in memory twice: as an entry, and in the resulting string.
      const added = COLUMN_NAME_BYTES + 2 * (name.length + cell.length);
      bytes += added;
      return added;
    });
  if (others.size === 0) return null;
  let json = "";
  yield* forEach(others, ([name, cell]) => {
    json += `${json === "" ? "" : ","}${JSON.stringify(name)}:${cell}`;
  });
  // The entries are released. The resulting string is charged by the caller.
  yield -bytes;
  return `{${json}}`;
}

export const keysOf = (columns: readonly NamedColumn<never>[]): readonly (keyof ExperimentRecord)[] => [
  ...new Set(columns.flatMap((column) => column.keys)),
];

/** Loads keys that the row of a list lacks. */
export const loadFor = async (
  keys: readonly (keyof ExperimentRecord)[],
  run: ExportedRun,
  { session }: Context,
): Promise<ExportedRun> =>
  isLoaded(run, keys, session.server) ? run : { ...run, loaded: await load(run, keys, session) };
