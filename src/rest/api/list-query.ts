import { InputError } from "../../errors.ts";
import type { Query } from "./batches.ts";
import { checkOrderName, type Condition, hasMetric, writeFilter } from "./filter-language.ts";
import { notOffered } from "./endpoint.ts";
import type { MetricDirection, Order, Profile } from "./profile.ts";

/** An order of experiments by the last value of a metric. */
interface MetricOrder {
  readonly name: string;
  readonly direction: MetricDirection;
}

/** The order and filters of a list of runs. */
export interface ListRequest {
  readonly order?: Order | null | undefined;
  readonly metricOrder?: MetricOrder | null | undefined;
  /** Conditions that the gateway writes in the server's language. */
  readonly conditions: readonly Condition[];
  /** A filter in the server's own language. */
  readonly query?: string | null | undefined;
  /** The id of a group, to list only its experiments. */
  readonly group: string | undefined;
}

/**
 * The query parameters of a list of runs. Throws `UpstreamError` when the server lacks one of them, and `InputError` when a
 * filter is too long or says what this server cannot be told.
 */
export function listQuery(profile: Profile, request: ListRequest): Query {
  const { order, metricOrder } = request;
  const { orders, filters } = profile;
  const metric = metricOrder ? metricOrderQuery(profile, metricOrder) : {};
  const { group: id, conditions } = splitGroup(profile, request);
  const filter = filterOf(profile, { ...request, conditions });
  return {
    ...(id !== undefined && { [filters.group ?? lacking("lists of the experiments of a group")]: id }),
    ...(order && (orders[order] ?? lacking(`the order ${order}`))),
    ...metric,
    ...(filter && { [filters.query ?? lacking("filters of lists", "FILTERS")]: filter }),
  };
}

/**
 * The group for the list's own parameter, and the conditions that are left for the filter. The parameter finds the experiments
 * of any group; the filter only those that a group has started, not those that somebody chose for it.
 */
export function splitGroup(
  { filters }: Profile,
  { group, conditions }: Pick<ListRequest, "group" | "conditions">,
): Pick<ListRequest, "group" | "conditions"> {
  const only = conditions.find(
    ({ key, operator, operands }) => key === "group" && operator === "anyOf" && operands.length === 1,
  );
  if (group !== undefined || filters.group === null || !only) return { group, conditions };
  return { group: only.operands[0], conditions: conditions.filter((each) => each !== only) };
}

const METRIC_ARGUMENT = "order.metric";

function metricOrderQuery(
  { metricOrders, filters: { language } }: Profile,
  { name, direction }: MetricOrder,
): Query {
  const parameters = metricOrders[direction] ?? lacking("the order by a metric", "METRIC_ORDERS");
  checkLength(METRIC_ARGUMENT, name);
  checkOrderName(METRIC_ARGUMENT, name, language !== null);
  return Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [key, value.replaceAll("{metric}", () => name)]),
  );
}

/** Longest filter or name, in characters, since servers limit their URLs. */
const MAX_LENGTH = 2_000;

function checkLength(argument: string, { length }: string, unit = "characters"): void {
  if (length <= MAX_LENGTH) return;
  throw new InputError(`${argument}: expected at most ${MAX_LENGTH} ${unit}, got ${length}`);
}

/** The filter of a list in the server's language; empty without one. */
function filterOf(
  { filters: { language } }: Profile,
  { query, conditions: given, metricOrder }: ListRequest,
): string {
  if (given.length > 0 && language === null) lacking("the argument `filter`", "FILTERS");
  const conditions = language && metricOrder ? [...given, ...presenceIn(metricOrder, given)] : given;
  const filter = writeFilter(conditions, query);
  if (conditions.length > 0) checkLength("filter", filter, "characters in the server's language");
  else checkLength("query", filter);
  return filter;
}

/** Databases put missing values first when they order downwards, so that runs without the metric would be the best ones. */
function presenceIn({ name, direction }: MetricOrder, given: readonly Condition[]): readonly Condition[] {
  const isCompared = given.some((condition) => condition.key === "metric" && condition.name === name);
  return direction === "ASC" || isCompared ? [] : [hasMetric(METRIC_ARGUMENT, name)];
}

function lacking(what: string, capability?: string): never {
  throw notOffered(what, capability);
}
