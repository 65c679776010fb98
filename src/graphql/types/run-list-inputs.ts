import { InputError } from "../../errors.ts";
import type { ListRequest } from "../../rest/api/list-query.ts";
import type { MetricDirection, Order } from "../../rest/api/profile.ts";
import { builder } from "../core/builder.ts";
import { DeclarationFilter, WORDS } from "./scan-filters.ts";
import { RunPhaseEnum, RunStatusEnum } from "./status.ts";

/* What lists of runs take: a filter and an order. */

export const DayRange = builder.inputType("DayRange", {
  description:
    "A range of days such as `2026-03-01`, which begin at midnight in the time zone of the service.",
  fields: (t) => ({
    from: t.string({ description: "First day." }),
    before: t.string({ description: "Day after the last one." }),
  }),
});

export const MetricFilter = builder.inputType("MetricFilter", {
  description: "Bounds of the latest value of a metric. Without bounds, runs that have the metric match.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name of the metric." }),
    greaterThan: t.float({ description: "Exclusive lower bound." }),
    atLeast: t.float({ description: "Inclusive lower bound." }),
    lessThan: t.float({ description: "Exclusive upper bound." }),
    atMost: t.float({ description: "Inclusive upper bound." }),
  }),
});

export const RunFilterInput = builder.inputType("RunFilter", {
  description:
    "Filter of runs. Runs must match all given members, and one of the values of a list. Members with `not` exclude runs. Requires `FILTERS`.",
  fields: (t) => ({
    words: t.string({ description: WORDS }),
    names: t.stringList({ description: "Whole names." }),
    notNames: t.stringList({ description: "Whole names." }),
    statuses: t.field({ type: [RunStatusEnum], description: "Statuses, without `OTHER`." }),
    notStatuses: t.field({ type: [RunStatusEnum], description: "Statuses, without `OTHER`." }),
    phases: t.field({ type: [RunPhaseEnum], description: "Phases, without `UNKNOWN`." }),
    rawStatuses: t.stringList({ description: "Statuses as the service spells them." }),
    users: t.stringList({ description: "Login names of those who created the runs." }),
    notUsers: t.stringList({ description: "Login names of those who created the runs." }),
    tags: t.stringList({ description: "Tags." }),
    allTags: t.stringList({ description: "Tags, all of which the run has." }),
    notTags: t.stringList({ description: "Tags." }),
    createdAt: t.field({ type: DayRange, description: "Days of creation." }),
    updatedAt: t.field({ type: DayRange, description: "Days of the last change." }),
    startedAt: t.field({ type: DayRange, description: "Days of the start." }),
    finishedAt: t.field({ type: DayRange, description: "Days of the end." }),
    builds: t.idList({ description: "Builds of experiments and jobs." }),
    notBuilds: t.idList({ description: "Builds of experiments and jobs." }),
    groups: t.idList({
      description: "Groups of experiments. A selection must be the only group, in a list of a project.",
    }),
    notGroups: t.idList({ description: "Groups of experiments." }),
    metrics: t.field({ type: [MetricFilter], description: "Metrics, all of which must match." }),
    declarations: t.field({ type: [DeclarationFilter], description: "Parameters, all of which must match." }),
  }),
});

/** A filter of any kind of run. */
export type RunFilter = typeof RunFilterInput.$inferInput;

export type Member = keyof RunFilter;

/** Members that only kinds have whose records have this key. */
const KEYS: { readonly [Name in Member]?: string } = {
  builds: "build_job",
  notBuilds: "build_job",
  groups: "experiment_group",
  notGroups: "experiment_group",
  metrics: "last_metric",
  declarations: "declarations",
};

export function hasMember(keys: readonly string[], member: Member): boolean {
  const { [member]: key } = KEYS;
  return key === undefined || keys.includes(key);
}

export const OrderDirection = builder.enumType("OrderDirection", {
  description: "Direction of an order.",
  values: {
    ASC: { description: "Smallest or earliest first." },
    DESC: { description: "Largest or latest first." },
  } satisfies Record<MetricDirection, object>,
});

/** The values are the fields of `Order`. */
const RunOrderField = builder.enumType("RunOrderField", {
  description:
    "A time by which runs are ordered. Known servers sort a run without it as the latest: first by `DESC`, last by `ASC`.",
  values: {
    CREATED_AT: { value: "CREATED", description: "Creation." },
    UPDATED_AT: { value: "UPDATED", description: "Last change." },
    STARTED_AT: { value: "STARTED", description: "Start." },
    FINISHED_AT: { value: "FINISHED", description: "End." },
  } as const,
});

export const RunOrder = builder.inputType("RunOrder", {
  description: "An order by either `field` or `metric`.",
  fields: (t) => ({
    field: t.field({ type: RunOrderField, description: "A time." }),
    metric: t.string({
      description:
        "Name of a metric: letters, digits, `-`, single `_`. Its latest values are compared. Experiments without a number of it are omitted. Requires `METRIC_ORDERS`.",
    }),
    direction: t.field({
      type: OrderDirection,
      required: true,
      defaultValue: "DESC",
      description: "Direction.",
    }),
  }),
});

/** The order that the arguments ask for, if any. Throws `InputError` when they ask for none or two. */
export function orderOf(
  order: typeof RunOrder.$inferInput | null | undefined,
): Pick<ListRequest, "order" | "metricOrder"> {
  if (!order) return {};
  const { field, metric, direction } = order;
  if (field != null && metric == null) return { order: `${field}_${direction}` satisfies Order };
  if (metric != null && field == null) return { metricOrder: { name: metric, direction } };
  throw new InputError(
    `order: expected \`field\` or \`metric\`, such as {field: CREATED_AT, direction: DESC}, got ${field == null ? "none" : "both"}`,
  );
}
