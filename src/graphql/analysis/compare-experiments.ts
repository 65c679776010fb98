import { InputError, GatewayError } from "../../errors.ts";
import type { ExperimentRecord } from "../../rest/api/records.ts";
import { arg, builder, flag, objectType, root, exposed } from "../core/builder.ts";
import { MAX_IDS } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { type ResultOf, makeEach } from "../../util/cooperative-task.ts";
import { referenceIn, resolveId } from "../core/ids.ts";
import { BuildJob, Experiment, type ExperimentResource, Group } from "../core/refs.ts";
import { type Kind, load, nullIfNotFound, requireVerification } from "../core/resource.ts";
import { isEqual, isSameScalar } from "../core/cooperative-algorithms.ts";
import { finite } from "../types/series.ts";
import { type Column, columnsOf, type Row } from "./experiment-statistics.ts";

/** The values of one parameter or metric. `rows` are the indexes of the runs with a value, `of` is the number of all compared runs. */
type Compared = ResultOf<typeof comparedIn>;

/**
 * Returns one item per compared run: `none` for a run without a value, otherwise `valueAt(index)`. `index` counts only runs with a value.
 */
function inAll<Each>({ rows, of }: Compared, none: Each, valueAt: (index: number) => Each): Each[] {
  const all = Array.from({ length: of }, () => none);
  for (const [index, row] of rows.entries()) all[row] = valueAt(index);
  return all;
}

const ComparedValues = builder.objectRef<Compared>("ComparedValues").implement({
  description: "A parameter, a metric or a fact, with its value in each compared experiment.",
  fields: (t) => ({
    name: t.string(exposed("name", "Name.")),
    values: t.field({
      type: ["JSON"],
      nullable: { list: false, items: true },
      description: "Value of each experiment, in the order of `experiments`.",
      // The list with nulls is created only when it is selected. If the runs share few names, it is mostly nulls.
      resolve: (compared) => inAll(compared, null, (index) => compared.values[index]),
    }),
    arePresent: t.booleanList({
      nullable: false,
      description:
        "Whether each experiment has it. Where true, a null in `values` is the value itself, or a metric that is not a finite number.",
      resolve: (compared) => inAll(compared, false, () => true),
    }),
    differs: t.boolean(
      exposed("differs", "Whether the values differ, or some of the experiments have none."),
    ),
  }),
});

const ExperimentComparison = objectType<Awaited<ReturnType<typeof compare>>>(
  "ExperimentComparison",
  "Several experiments side by side.",
  (t) => ({
    experiments: t.field({
      type: [Experiment],
      ...exposed("experiments", "The experiments, in the order of `ids`."),
    }),
    missing: t.idList(exposed("missing", "Members of `ids` that were not found; the others are compared.")),
    origin: t.field({
      type: [ComparedValues],
      ...exposed(
        "origin",
        "User, group, original, build, framework and tags. Runs are named by their `reference`.",
      ),
    }),
    parameters: t.field({
      type: [ComparedValues],
      ...exposed("parameters", "Parameters, by name; those in objects by their path, such as `model.lr`."),
    }),
    metrics: t.field({ type: [ComparedValues], ...exposed("metrics", "Latest metrics, by name.") }),
  }),
);

/** Maps each name in `ExperimentComparison.origin` to the key of the record that has its value. */
const ORIGIN = {
  user: "user",
  experimentGroup: "experiment_group",
  original: "original",
  buildJob: "build_job",
  framework: "framework",
  tags: "tags",
} as const satisfies Record<string, keyof ExperimentRecord>;

const COMPARED_KEYS = [...Object.values(ORIGIN), "declarations", "last_metric"] as const;

const comparedIn = (
  columns: readonly Column[],
  { of, onlyDifferences }: { readonly of: number; readonly onlyDifferences: boolean },
  valueOf: (value: unknown) => unknown = (value) => value,
) =>
  makeEach(columns, function* ({ name, values: given, rows }) {
    yield;
    const values = given.map(valueOf);
    let differs = rows.length > 0 && rows.length < of;
    for (const value of values) {
      if (differs) break;
      if (isSameScalar(value, values[0])) continue;
      differs = !(yield* isEqual(value, values[0]));
      yield;
    }
    return differs || !onlyDifferences ? { name, values, rows, of, differs } : null;
  });

/** The kind of run that an origin key refers to. Keys that are not listed here are not references. */
const KINDS: Readonly<Record<string, Kind>> = {
  experimentGroup: Group.kind,
  original: Experiment.kind,
  buildJob: BuildJob.kind,
};

const originOf = (all: readonly Row[]): Column[] =>
  Object.entries(ORIGIN).map(([name, key]) => {
    const rows = [...all.keys()].filter((row) => all[row]?.[key] != null);
    const kind = KINDS[name];
    const shown = (value: unknown) => (kind && typeof value === "string" ? referenceIn(kind, value) : value);
    return { name, values: rows.map((row) => shown(all[row]?.[key])), rows };
  });

/** Reads a compared run. Resolves with null if the run does not exist. Any other error has the run in `extensions.reference`. */
const loadNamed = (run: ExperimentResource, session: Context["session"]) =>
  load(requireVerification(run), COMPARED_KEYS, session)
    .catch(nullIfNotFound)
    .catch((error: unknown) => {
      throw error instanceof GatewayError ? error.of(Experiment.kind.formatReference(run.address)) : error;
    });

async function compare(ids: readonly string[], onlyDifferences: boolean, context: Context) {
  const named = ids.map((id, index) => resolveId(Experiment.kind, `ids[${index}]`, id));
  const { size } = new Set(named.map(({ address }) => Experiment.kind.formatName(address)));
  if (size < 2) throw new InputError(`ids: expected at least 2 different runs, got ${size}`);
  if (ids.length > MAX_IDS) throw new InputError(`ids: expected at most ${MAX_IDS} ids, got ${ids.length}`);
  const records = await Promise.all(named.map((run) => loadNamed(run, context.session)));
  const runs = named.flatMap((run, index) => {
    const loaded = records[index];
    return loaded ? [{ ...run, loaded }] : [];
  });
  const rows = runs.map(({ loaded }) => loaded);
  const options = { of: runs.length, onlyDifferences };
  const compared = (columns: readonly Column[], valueOf?: typeof finite) =>
    context.runCooperatively(comparedIn(columns, options, valueOf));
  return {
    experiments: runs,
    missing: ids.filter((_id, index) => !records[index]),
    origin: await compared(originOf(rows)),
    parameters: await compared(await columnsOf(rows, "declarations", context)),
    metrics: await compared(await columnsOf(rows, "last_metric", context), finite),
  };
}

root.query("compareExperiments", {
  type: ExperimentComparison,
  description: "Parameters, latest metrics and origin of several experiments, side by side.",
  args: {
    ids: arg.idList({
      required: true,
      description: `2 to ${MAX_IDS} global ids, references or unique names.`,
    }),
    onlyDifferences: flag(true, "Set to false to include values that are the same in all of them."),
  },
  resolve: (_, { ids, onlyDifferences }, context) => compare(ids, onlyDifferences, context),
});
