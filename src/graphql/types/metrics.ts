import { checkLength } from "../../rest/api/list-query.ts";
import type { InputShapeFromFields } from "@pothos/core";
import { runs } from "../../rest/api/kinds.ts";
import { PageIterator } from "../../rest/session/pagination.ts";
import { START } from "../../rest/session/list-position.ts";
import { GatewayError } from "../../errors.ts";
import { type ByName, valueAt, isMismatch, MAX_ENTRY_NAMES } from "../../rest/api/record.ts";
import type { ExperimentRecord } from "../../rest/api/records.ts";
import { arg, builder, computedFromOrNull, objectType, exposed, exposedOrNull } from "../core/builder.ts";
import { connectionOf, type PageArgs, pageArgs, readConnection, within } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import type { CooperativeTask } from "../../util/cooperative-task.ts";
import { fieldsOf } from "../core/fields.ts";
import { byName, compareText, sorted } from "../core/cooperative-algorithms.ts";
import { entryIds, pathOf } from "../core/ids.ts";
import { Experiment, type ExperimentResource, Group, MetricRecord } from "../core/refs.ts";
import { asMetric, type SeriesColumn, columnsOf, finite, type Series, seriesOf } from "./series.ts";

const valueOf = (name: string, raw: unknown) => ({ name, value: finite(raw), raw });

type NamedValue = ReturnType<typeof valueOf>;

const MetricValue = objectType<NamedValue>("MetricValue", "A metric and its value.", (t) => ({
  name: t.string(exposed("name", "Name of the metric.")),
  value: t.float(exposedOrNull("value", "Value; null if it is not a finite number.")),
  raw: t.field({
    type: "JSON",
    description: "Value as received. Some servers have strings and objects. A long integer is rounded.",
    resolve: ({ value, raw }, _, context) =>
      value ??
      (typeof raw === "object" && raw ? context.memoized(raw, ["metric"], () => asMetric(raw)) : raw),
  }),
}));

/**
 * Returns a function that sorts the keys of objects. The function caches its last result, because most records of a page have the same
 * keys.
 */
export function createSorter(): (keys: readonly string[]) => readonly string[] {
  let [last, inOrder]: [readonly string[], readonly string[]] = [[], []];
  return (keys) => {
    const isSame = keys.length === last.length && keys.every((key, index) => key === last[index]);
    if (!isSame) [last, inOrder] = [keys, keys.toSorted()];
    return inOrder;
  };
}

/** Maximum number of names that are sorted in one step. */
const MAX_SORTED_NAMES = 2_000;

/**
 * Returns the entries of an object, sorted by name. With `names`, returns only the entries with these names, each once; a name that the
 * object lacks is omitted. `sort` is a function of `createSorter`.
 */
export function namedIn<Named extends { readonly name: string }>(
  values: ByName,
  { names, toNamed, sort }: NamedIn<Named>,
  context: Context,
): Named[] | Promise<Named[]> {
  if (names) {
    const found = [...setOfNames(names)].flatMap((name) => {
      const value = valueAt(values, name);
      return value === undefined ? [] : [toNamed(name, value)];
    });
    return found.toSorted(byName);
  }
  const own = Object.keys(values);
  const inOrder = (sortedNames: readonly string[]) => sortedNames.map((name) => toNamed(name, values[name]));
  if (own.length <= MAX_SORTED_NAMES) return inOrder(sort(own));
  return context.memoized(values, ["names"], () => sorted(own, compareText)).then(inOrder);
}

export const toNamed = (name: string, value: unknown) => ({ name, value });

interface NamedIn<Named> extends NamesArgs {
  readonly toNamed: (name: string, value: unknown) => Named;
  readonly sort: ReturnType<typeof createSorter>;
}

const sortMetrics = createSorter();

const metricsIn = (values: ByName | null | undefined, { names }: NamesArgs, context: Context) =>
  values ? namedIn(values, { names, toNamed: valueOf, sort: sortMetrics }, context) : [];

export const namesArg = {
  names: arg.stringList({ description: "Names to include; none with an empty list. Default: all." }),
};
export type NamesArgs = InputShapeFromFields<typeof namesArg>;

MetricRecord.implement({
  description: "Metric values that were recorded together.",
  fields: (t) => ({
    ...entryIds(t, "MetricRecord", pathOf),
    createdAt: t.field(
      computedFromOrNull("DateTime", "Time of the recording.", ({ record }) => record.created_at ?? null),
    ),
    values: t.field({
      type: [MetricValue],
      nullable: false,
      description: "Values, by name.",
      args: namesArg,
      resolve: ({ record }, args, context) => metricsIn(record.values, args, context),
    }),
    experiment: t.field(computedFromOrNull(Experiment, "Its run.", ({ parent }) => parent)),
  }),
});

/** The list of an experiment's metrics. If the group is known, one request for the metrics of the group can replace it. */
function metricsOf({ address, listedIn, loaded: { experiment_group } }: ExperimentResource) {
  // `listedIn` takes precedence: it may be a selection, while the record refers to the group that started the experiment.
  const group = listedIn ?? (experiment_group ? Group.kind.parseName(experiment_group) : null);
  const { metrics: endpoint } = runs.experiment.endpoints;
  return { endpoint, address, sortedBy: ["created_at"], part: { at: address, group } };
}

/** Number of metric records per request. All records of a run may have several megabytes, too much for one response. */
export const METRICS_PAGE = 40_000;

const MetricSeries = builder.objectRef<Series>("MetricSeries").implement({
  description: "One metric over time, in parallel columns.",
  fields: (t) => ({
    name: t.string(exposed("name", "Name of the metric.")),
    totalPoints: t.int(exposed("totalPoints", "Points before downsampling.")),
    steps: t.intList({
      nullable: false,
      description:
        "Position of each point among all points of the metric, from 0. Not a step of the training: see `x`.",
      resolve: ({ steps, values }) => steps ?? [...values.keys()],
    }),
    times: t.field({
      type: ["DateTime"],
      ...exposed("times", "Times of the points."),
      nullable: { list: false, items: true },
    }),
    values: t.field({
      type: ["Float"],
      ...exposed("values", "Values of the points; null if not a finite number."),
      nullable: { list: false, items: true },
    }),
    x: t.field({
      type: ["Float"],
      ...exposedOrNull(
        "x",
        "Value of the metric that the argument `x` names, in the record of each point; null if that has no finite number. The list is null without the argument, and if no record of this metric has it.",
      ),
      nullable: { list: true, items: true },
    }),
  }),
});

const seriesArgs = {
  ...namesArg,
  maxPoints: arg.int({
    defaultValue: 500,
    description:
      "Points per series, 2 to 5000. Longer series are downsampled, keeping peaks (LTTB) and the ends of gaps.",
  }),
  x: arg.string({
    description:
      "Name of another metric of the same records, such as a logged step or epoch, for the axis: the field `x` has its values.",
  }),
};

/** Returns an iterator over the pages of all metric records of an experiment. */
export const openMetrics = (resource: ExperimentResource) =>
  new PageIterator(metricsOf(resource), START, METRICS_PAGE);

const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

/**
 * Returns the distinct names of an argument. All objects of a list that have the field share the set. Throws `InputError` if there are too
 * many names, or too many characters in them.
 */
function setOfNames(names: readonly string[]): ReadonlySet<string> {
  const known = sets.get(names);
  if (known) return known;
  checkLength("names", names, "names");
  const set = new Set(names);
  let characters = 0;
  for (const name of set) characters += name.length + 1;
  checkLength("names", { length: characters - 1 }, "characters in different names, with one between them");
  sets.set(names, set);
  return set;
}

/** Returns a test whether a column has one of these names. Without names, every column passes. */
export function isNamedIn(names: readonly string[] | null | undefined) {
  const wanted = names && setOfNames(names);
  return ({ name }: { readonly name: string }): boolean => wanted?.has(name) ?? true;
}

/**
 * Reads all metrics of an experiment and computes a result from the columns with these names. Fields with equal `args`, `names` and `x`
 * share the result.
 */
export async function fromColumns<Result>(
  resource: ExperimentResource,
  names: readonly string[] | null | undefined,
  args: readonly unknown[],
  context: Context,
  make: (columns: readonly SeriesColumn[]) => CooperativeTask<Result>,
  x: string | null = null,
): Promise<Result> {
  const metrics = openMetrics(resource);
  const next = () => metrics.nextOfAll(context.session);
  const first = await next();
  const pages = [first.rest];
  while (!metrics.isDone()) pages.push((await next()).rest);
  const source = first.page;
  const columns = await context.memoized(source, ["columns", pages.length, x], () => columnsOf(pages, x));
  return context.memoized(source, [...args, names, x], () => make(columns.filter(isNamedIn(names))));
}

function readSeries(
  resource: ExperimentResource,
  { names, maxPoints, x = null }: InputShapeFromFields<typeof seriesArgs>,
  context: Context,
): Promise<Series[]> {
  const most = within("maxPoints", maxPoints ?? 500, { from: 2, to: 5_000 });
  if (x !== null) checkLength("x", x);
  return fromColumns(resource, names, ["series", most], context, (columns) => seriesOf(columns, most), x);
}

const { child, computed } = fieldsOf(Experiment.kind);

/** The latest metrics of a record; null if it has none. Throws `GatewayError` if they are not an object, or have too many names. */
function latestIn(record: Pick<Partial<ExperimentRecord>, "last_metric">): ByName | null {
  if (!isMismatch(record, "last_metric")) return record.last_metric ?? null;
  throw new GatewayError(
    "UPSTREAM_BAD_RESPONSE",
    `last_metric: expected an object of at most ${MAX_ENTRY_NAMES} names and values, got something else from the service.`,
  );
}

builder.objectFields(Experiment, (t) => ({
  latestMetrics: t.field({
    type: [MetricValue],
    args: namesArg,
    ...computed(
      ["last_metric"],
      "Latest value of each metric that the run has, by name.",
      (record, _, args: NamesArgs, context) => {
        const values = latestIn(record);
        return values ? metricsIn(values, args, context) : null;
      },
    ),
  }),
  latestMetric: t.field({
    type: MetricValue,
    args: { name: t.arg.string({ required: true, description: "Name of the metric." }) },
    ...computed(
      ["last_metric"],
      "Latest value of one metric; null if the run does not have it.",
      (record, _, { name }: { name: string }) => {
        const raw = valueAt(latestIn(record), name);
        return raw === undefined ? null : valueOf(name, raw);
      },
    ),
  }),
  metrics: t.field({
    type: connectionOf(MetricRecord, "A page of metric records."),
    args: pageArgs,
    ...child("Metric records, in the service's order.", (parent, args: PageArgs, context) =>
      readConnection(metricsOf(parent), args, (record) => ({ parent, record }), context),
    ),
  }),
  metricSeries: t.field({
    type: [MetricSeries],
    args: seriesArgs,
    ...child(
      "Values of each metric over time, downsampled to `maxPoints`, for charts. Reads all metric records of the run, page by page.",
      readSeries,
    ),
  }),
}));
