/** A condition of a filter, as a server reads it. */
export interface Condition {
  readonly key: string;
  readonly isNegated: boolean;
  /** The operator of a comparison; empty for a set. */
  readonly sign: string;
  readonly values: readonly (string | number)[];
}

/** Reads a filter by the rules of release 0.4.4, without its database. Throws if that release rejects the filter or crashes. */
export function readFilter(query: string): Condition[] {
  if (strip(query) === "") return [];
  return query.split(",").map(strip).filter(Boolean).map(readExpression);
}

/** Like Python's `str.strip()`, which also removes some control characters. */
const strip = (text: string) => text.replaceAll(/^[\s\p{Cc}]+|[\s\p{Cc}]+$/gu, "");

const DATES = new Set(["created_at", "updated_at", "started_at", "finished_at"]);
const LOOKUPS = /^(?:exact|in|gte?|lte?|range|regex|isnull|i?contains|contained_by|has_(?:keys?|any_keys))$/;

function readExpression(expression: string): Condition {
  const [key = "", operation = "", ...rest] = expression.split(":").map(strip);
  if (key === "" || operation === "" || rest.length > 0) throw new Error(`no expression: ${expression}`);
  const [field = "", name, ...more] = key.split(".").map(strip);
  if (more.length > 0 || name === "") throw new Error(`no field: ${key}`);
  const isCompared = field === "metric" || DATES.has(field);
  if (name !== undefined && field !== "user") checkName(name, isCompared);
  const isNegated = operation.startsWith("~");
  const operand = strip(isNegated ? operation.slice(1) : operation);
  const [, sign = ""] = /^(<=|=<|>=|=>|<|>)/.exec(operand) ?? [];
  const value = strip(operand.slice(sign.length));
  if (value === "" || value.includes("\u0000")) throw new Error(`no operation: ${operation}`);
  if (!isCompared) {
    if (sign !== "" || value.includes("..")) throw new Error(`no value: ${operation}`);
    const values = value.split("|").map(strip).filter(Boolean);
    if (value.includes("|") && values.length <= 1) throw new Error(`no set: ${operation}`);
    return { key, isNegated, sign, values };
  }
  if (/\||\.\./.test(value)) throw new Error(`no comparison: ${operation}`);
  if (field === "metric" && !Number.isFinite(Number(value))) throw new Error(`no number: ${operation}`);
  if (DATES.has(field) && Number.isNaN(Date.parse(`${value}T00:00Z`)))
    throw new Error(`no date: ${operation}`);
  return { key, isNegated, sign, values: [field === "metric" ? Number(value) : value] };
}

/** A name becomes a path in the database, in which some words are operators. */
function checkName(name: string, isCompared: boolean): void {
  const isPath = !name.includes("__") && !name.endsWith("_") && !/^[\s+-]*[\d_]+$/.test(name);
  if (!isPath || /['"%]/.test(name) || (!isCompared && LOOKUPS.test(name))) {
    throw new Error(`no name: ${name}`);
  }
}
