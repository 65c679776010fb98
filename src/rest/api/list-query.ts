import { InputError } from "../../errors.ts";
import type { Query } from "./batch-rules.ts";
import { notOffered } from "./endpoint.ts";
import type { MetricDirection, Order, Profile } from "./profile.ts";
import { parseJson } from "./parse-json.ts";
import { roundedOf } from "./reader.ts";

/** An order of experiments by the last value of a metric. */
interface MetricOrder {
  readonly name: string;
  readonly direction: MetricDirection;
}

export interface ListRequest {
  readonly order?: Order | null | undefined;
  readonly metricOrder?: MetricOrder | null | undefined;
  /** Conditions that the gateway translates into the server's filter language. */
  readonly conditions: readonly Condition[];
  /** A filter that the caller wrote in the server's filter language. */
  readonly query?: string | null | undefined;
  /** The id of a group, to list only its experiments. */
  readonly group: string | undefined;
}

export function listQuery(profile: Profile, request: ListRequest): Query {
  const { order, metricOrder } = request;
  const { orders, filters } = profile;
  const byMetric = metricOrder && metricOrderQuery(profile, metricOrder);
  const { group: id, conditions } = splitGroup(profile, request);
  const filter = filterOf(profile, { ...request, conditions });
  return {
    ...(id !== undefined && { [filters.group ?? lacking("lists of the experiments of a group")]: id }),
    ...(byMetric ?? (order ? (orders[order] ?? lacking(`the order ${order}`)) : orders.DEFAULT)),
    ...(filter && { [filters.query ?? lacking("filters of lists", "FILTERS")]: filter }),
  };
}

/** The keys of rows by which a server sorts a list: the requested key and the profile's additional dates. Dates are the default. */
export function sortKeys(
  { orders, metricOrders }: Profile,
  { order, metricOrder }: Pick<ListRequest, "order" | "metricOrder">,
): readonly string[] {
  const query = metricOrder ? metricOrders[metricOrder.direction] : orders[order ?? "DEFAULT"];
  const dates = Object.values(query ?? {}).flatMap(
    (value) => value.match(/\b(?:created|updated|started|finished)_at\b/g) ?? [],
  );
  const keys = metricOrder ? [`last_metric.${metricOrder.name}`, ...dates] : dates;
  if (order && !metricOrder) keys.unshift(`${order.replace(/_.*/, "").toLowerCase()}_at`);
  return keys.length > 0 ? [...new Set(keys)] : ["updated_at", "created_at"];
}

/**
 * Separates a condition on the group from the other conditions, because lists have a parameter for the group. The parameter finds all
 * experiments of a group. The filter would find only the experiments that the group has started, not the ones that a user added to it.
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

const METRIC_ARGUMENT = "order.by.metric";

function metricOrderQuery(
  { metricOrders, filters: { language } }: Profile,
  { name, direction }: MetricOrder,
): Query {
  const parameters = metricOrders[direction] ?? lacking("the order by a metric", "METRIC_ORDERS");
  checkLength(METRIC_ARGUMENT, name);
  if (language !== null && COLUMNS.has(name))
    throw refused(METRIC_ARGUMENT, "a name that the server has no column of its own for", name);
  // Servers ignore an order that they cannot parse.
  if (!/^(?=.*\p{L})[\p{L}\p{Nd}_-]+$/u.test(name) || /^-|__|[_-]$/.test(name)) {
    const expected = "a name that the server can sort by: letters, digits, - and single _ in between";
    throw refused(METRIC_ARGUMENT, expected, name);
  }
  return Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [key, value.replaceAll("{metric}", () => name)]),
  );
}

/** Maximum length of a filter or name in characters, and maximum number of values of a list in a filter. Servers limit their URLs. */
export const MAX_QUERY_LENGTH = 2_000;

export function checkLength(
  argument: string,
  { length }: { readonly length: number },
  unit = "characters",
): void {
  if (length <= MAX_QUERY_LENGTH) return;
  throw new InputError(`${argument}: expected at most ${MAX_QUERY_LENGTH} ${unit}, got ${length}`);
}

/** The filter of a list in the server's language; empty without one. */
function filterOf(
  { filters: { language } }: Profile,
  { query, conditions: given, metricOrder }: ListRequest,
): string {
  if (given.length > 0 && language === null) lacking("the argument `filter`", "FILTERS");
  const conditions = language && metricOrder ? [...given, ...presenceIn(metricOrder, given)] : given;
  const filter = [...conditions.map(written), ...(query ? [query] : [])].join(",");
  if (conditions.length > 0) checkLength("filter", filter, "characters in the server's language");
  else checkLength("query", filter);
  return filter;
}

/**
 * Adds the condition that a run has the metric of an order. Otherwise runs without a number would come first: databases sort missing values
 * first in descending order, and nulls and strings such as "NaN" first in ascending order.
 */
function presenceIn({ name }: MetricOrder, given: readonly Condition[]): readonly Condition[] {
  const isCompared = given.some((condition) => condition.key === "metric" && condition.name === name);
  return isCompared ? [] : [hasMetric(METRIC_ARGUMENT, name)];
}

function lacking(what: string, capability?: string): never {
  throw notOffered(what, capability);
}

/*
 * The filter language of lists, which is the language of Polyaxon 0.x: `status:~running|failed,metric.loss:<0.5`. Values that the language
 * cannot express are rejected, so that no value changes the meaning of a filter and no filter crashes the server.
 */

export interface Condition {
  /** Path of the GraphQL argument, for error messages: `filter.tags`. */
  readonly argument: string;
  readonly key: keyof typeof QUERY_FIELDS;
  /** Name of the metric or of the parameter. */
  readonly name?: string;
  readonly operator: keyof typeof OPERATORS;
  /** One value for a comparison, at least one for a set. */
  readonly operands: readonly string[];
}

/** The condition that a run has any value of a metric: the value must be at least a number that is smaller than any other. */
export const hasMetric = (argument: string, name: string): Condition => ({
  argument,
  key: "metric",
  name,
  operator: "atLeast",
  operands: ["-1e308"],
});

export const isSayable = ({ key, name, operator, operands }: Condition): boolean =>
  operands.every(QUERY_FIELDS[key].isValid) &&
  (name === undefined || FIELD_NAME.test(name)) &&
  (key !== "parameter" || (operator === "anyOf" && !RESERVED_WORDS.has(name ?? "")));

function written({ argument, key, name, operator, operands }: Condition): string {
  const { spelling, isValid, expected } = QUERY_FIELDS[key];
  const invalid = operands.find((operand) => !isValid(operand));
  if (invalid !== undefined) throw refused(argument, expected, invalid);
  return `${spelling}${name === undefined ? "" : `.${name}`}:${OPERATORS[operator]}${operands.join("|")}`;
}

const OPERATORS = {
  anyOf: "",
  noneOf: "~",
  greaterThan: ">",
  atLeast: ">=",
  lessThan: "<",
  atMost: "<=",
} as const;

/** Whether a filter can contain a string unchanged. The server trims values, and takes some characters in them as operators. */
const isPlain = (text: string): boolean =>
  text !== "" && text.trim() === text && !/[,|:\p{Cc}\p{Cs}]|\.\.|^[~<>=]/u.test(text);

const TEXT = {
  isValid: isPlain,
  expected: "text without `,`, `|`, `:`, `..`, a sign of comparison or `~` at its start, or space around it",
};

/** Throws `InputError` for a string that no filter of the server could find. */
export function checkText(argument: string, text: string): void {
  if (!isPlain(text)) throw refused(argument, TEXT.expected, text);
}

/** Matches the start of JSON. It is checked first, because parsing thousands of strings, each of which throws, would take long. */
const MAY_BE_JSON = /^\s*(?:[-+.\d"[{]|true|false|null|NaN|-?Infinity)/u;

/** The value that the server may take a string for: a number, a boolean, null, a list or an object; undefined if it is only a string. */
export function meaningOf(text: string): unknown {
  if (!MAY_BE_JSON.test(text)) return undefined;
  try {
    // The server's parser also accepts `NaN`, which is not JSON.
    JSON.parse(text);
    const value = parseJson(Buffer.from(text));
    return typeof value === "string" && roundedOf(value) === null ? undefined : value;
  } catch {
    return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
  }
}

const NUMBER_FIELD = {
  isValid: (text: string) => Number.isFinite(Number(text)),
  expected: "a finite number",
};

/** Accepts the days that the server can convert to any time zone. The server crashes on others, and supports no time of day. */
const DAY = {
  isValid: (text: string) =>
    /^(?:19[7-9]\d|2\d{3})-\d\d-\d\d$/.test(text) &&
    new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text,
  expected: "a day",
};

export const isDay = DAY.isValid;

const QUERY_FIELDS = {
  name: { spelling: "name", ...TEXT },
  status: { spelling: "status", ...TEXT },
  tags: { spelling: "tags", ...TEXT },
  // The key `user` is not used, because it accepts only internal ids: a name there crashes the server.
  user: { spelling: "user.username", ...TEXT },
  build: { spelling: "build", ...TEXT },
  group: { spelling: "group", ...TEXT },
  createdAt: { spelling: "created_at", ...DAY },
  updatedAt: { spelling: "updated_at", ...DAY },
  startedAt: { spelling: "started_at", ...DAY },
  finishedAt: { spelling: "finished_at", ...DAY },
  metric: { spelling: "metric", ...NUMBER_FIELD },
  // Servers find only parameters that are strings. A number never matches.
  parameter: {
    ...TEXT,
    spelling: "declarations",
    isValid: (text: string) => isPlain(text) && meaningOf(text) === undefined,
  },
} as const;

/**
 * Matches names of metrics and parameters that the server looks up unchanged. It splits other names into a path at `.` and `__`, takes an
 * integer as an index into a list, and passes quotes and `%` to the database.
 */
const FIELD_NAME = /^(?! )(?!.*__)(?=.*\p{L})[\p{L}\p{M}\p{N}_/@+#() -]*[\p{L}\p{M}\p{N}/@+#()-]$/u;

/** Words that the server takes as an operator at the end of a path, except in the name of a metric. */
const RESERVED_WORDS = new Set(
  "contained_by contains endswith exact gt gte has_any_keys has_key has_keys icontains iendswith iexact in iregex isnull istartswith lt lte range regex startswith".split(
    " ",
  ),
);

/** Columns of the table of experiments in releases 0.2 to 0.6. Sorting by a metric with such a name crashes these servers. */
const COLUMNS = new Set(
  "backend build_job build_job_id chart_views clones cloning_strategy code_reference code_reference_id config content created_at data_refs declarations deleted description experiment_group experiment_group_id finished_at framework id in_cluster is_managed jobs last_metric metric metric_id metrics name original_experiment original_experiment_id outputs outputs_refs outputs_refs_id params persistence project project_id readme run_env selections started_at status status_id statuses tags tensorboard_jobs updated_at user user_id uuid".split(
    " ",
  ),
);

const refused = (argument: string, expected: string, got: string) =>
  new InputError(`${argument}: expected ${expected}, got ${JSON.stringify(got.slice(0, 60))}`);
