import { gzipSync } from "node:zlib";

import { type Build, type Experiment, type Job, lastStatus, type Run, spanOf } from "../store.ts";
import { type DemoRequest, type DemoResponse, HttpError, json } from "./messages.ts";

const defaultPageLimit = 20;

/** The default limit of metric lists: in effect all records. */
export const metricLimit = 300_000;

/** Responds with one page of items in the service's envelope. Renders only the items of the page. */
export function page<Item>(
  request: DemoRequest,
  items: readonly Item[],
  render: (item: Item) => unknown,
  defaultLimit = defaultPageLimit,
): DemoResponse {
  const limit = wholeNumber(request.query.get("limit"), 1) ?? defaultLimit;
  const offset = wholeNumber(request.query.get("offset"), 0) ?? 0;
  const link = (start: number) => `${request.address}?${pageQuery(request.query, limit, start)}`;
  return json(200, {
    count: items.length,
    next: offset + limit < items.length ? link(offset + limit) : null,
    previous: offset > 0 ? link(offset - limit) : null,
    results: items.slice(offset, offset + limit).map(render),
  });
}

/** Null for an invalid number, which real servers ignore. */
function wholeNumber(text: string | null, least: number): number | null {
  const value = Number(text);
  return text && /^\d+$/.test(text) && value >= least ? value : null;
}

/** The query of another page: keys in alphabetical order, no offset for the first page. */
function pageQuery(query: URLSearchParams, limit: number, offset: number): URLSearchParams {
  const linked = new URLSearchParams(query);
  linked.set("limit", String(limit));
  if (offset > 0) linked.set("offset", String(offset));
  else linked.delete("offset");
  linked.sort();
  return linked;
}

/** Compresses a response whatever the caller accepts, as release 0.4.4 does with long lists. */
export function gzipped({ status, headers, body }: DemoResponse): DemoResponse {
  return { status, headers: { ...headers, "content-encoding": "gzip" }, body: gzipSync(body) };
}

type Value = string | number;

/** A key that a query can name: a run's values for it, and how an operand is parsed. */
interface FilterKey<R> {
  readonly valuesOf: (run: R) => readonly Value[];
  readonly parse: (text: string) => Value;
}

export type FilterKeys<R> = (name: string) => FilterKey<R> | undefined;

const text = (operand: string) => operand;

function number(operand: string): number {
  const value = Number(operand);
  if (operand !== "" && Number.isFinite(value)) return value;
  throw new HttpError(400, [`Scalar operation requires int or float params, receive ${operand}.`]);
}

function date(operand: string): number {
  const value = Date.parse(operand);
  if (Number.isFinite(value)) return value;
  throw new HttpError(400, [`Datetime operation requires a date, receive ${operand}.`]);
}

const present = <V extends Value>(value: V | null | undefined): V[] =>
  value === null || value === undefined ? [] : [value];

const sharedKeys = new Map<string, FilterKey<Run>>([
  ["id", { valuesOf: (run) => [run.id], parse: number }],
  ["name", { valuesOf: (run) => present(run.name), parse: text }],
  ["status", { valuesOf: (run) => [lastStatus(run)], parse: text }],
  ["tags", { valuesOf: (run) => run.tags ?? [], parse: text }],
  ["user.username", { valuesOf: (run) => [run.user], parse: text }],
  ["created_at", { valuesOf: (run) => [run.createdAt], parse: date }],
  ["updated_at", { valuesOf: (run) => [run.updatedAt], parse: date }],
  ["started_at", { valuesOf: (run) => present(spanOf(run.statuses).startedAt), parse: date }],
  ["finished_at", { valuesOf: (run) => present(spanOf(run.statuses).finishedAt), parse: date }],
]);

const buildKey = { valuesOf: (run: { build: Build | null }) => present(run.build?.id), parse: number };

export const runKeys: FilterKeys<Run> = (name) => sharedKeys.get(name);

export const jobKeys: FilterKeys<Job> = (name) => (name === "build" ? buildKey : sharedKeys.get(name));

export const experimentKeys: FilterKeys<Experiment> = (name) => {
  if (name === "build") return buildKey;
  if (name === "group") return { valuesOf: ({ group }) => present(group?.id), parse: number };
  const [prefix, inner] = name.split(/\.(.*)/s);
  if (prefix === "metric" && inner)
    return { valuesOf: (run) => present(lastMetric(run, inner)), parse: number };
  if (prefix === "declarations" && inner) return { valuesOf: (run) => declared(run, inner), parse: text };
  return sharedKeys.get(name);
};

/** The latest number recorded under a name; null when there is none. */
function lastMetric(experiment: Experiment, name: string): number | null {
  const value = experiment.metrics.at(-1)?.values[name];
  return typeof value === "number" ? value : null;
}

function declared(experiment: Experiment, name: string): string[] {
  const value = experiment.declarations?.[name];
  return value === undefined ? [] : [String(value)];
}

const comparisons = new Map<string, (value: Value, bound: Value) => boolean>([
  ["<=", (value, bound) => value <= bound],
  [">=", (value, bound) => value >= bound],
  ["<", (value, bound) => value < bound],
  [">", (value, bound) => value > bound],
]);

/**
 * Parses a query such as `status:running|failed,metric.loss:<0.2,id:~3` into a predicate of runs. The manager
 * is the list's name in error texts.
 */
export function parseQuery<R>(query: string, manager: string, keys: FilterKeys<R>): (run: R) => boolean {
  const tests = query
    .split(",")
    .map((expression) => expression.trim())
    .filter((expression) => expression !== "")
    .map((expression) => parseExpression(expression, manager, keys));
  return (run) => tests.every((test) => test(run));
}

function parseExpression<R>(expression: string, manager: string, keys: FilterKeys<R>): (run: R) => boolean {
  const [name, operation, ...rest] = expression.split(":").map((part) => part.trim());
  if (!name || !operation || rest.length > 0) {
    const rule = "Expression is not valid, it must be formatted as name:operation";
    throw new HttpError(400, [`${rule}, Expression: ${expression}`]);
  }
  const key = keys(name);
  if (!key) throw new HttpError(400, [`key \`${name}\` is not supported by query manager \`${manager}\`.`]);
  const isNegated = operation.startsWith("~");
  const test = parseOperation(isNegated ? operation.slice(1) : operation, key.parse);
  return (run) => key.valuesOf(run).some(test) !== isNegated;
}

function parseOperation(operation: string, parse: (text: string) => Value): (value: Value) => boolean {
  const [, sign = "", operand = ""] = /^(<=|>=|<|>)(.*)$/s.exec(operation) ?? [];
  const compare = comparisons.get(sign);
  if (compare) {
    const bound = parse(operand.trim());
    return (value) => compare(value, bound);
  }
  const values = new Set(operation.split("|").map((part) => parse(part.trim())));
  return (value) => values.has(value);
}

/** Resolves a sort key to a run's value for it; null values come last, undefined is an unknown key. */
export type SortKeys<R> = (name: string) => ((run: R) => number | null) | undefined;

const sortableTimes = new Map<string, (run: Run) => number | null>([
  ["created_at", (run) => run.createdAt],
  ["updated_at", (run) => run.updatedAt],
  ["started_at", (run) => spanOf(run.statuses).startedAt],
  ["finished_at", (run) => spanOf(run.statuses).finishedAt],
]);

export const runSortKeys: SortKeys<Run> = (name) => sortableTimes.get(name);

export const experimentSortKeys: SortKeys<Experiment> = (name) => {
  return name.startsWith("metric.")
    ? (run) => lastMetric(run, name.slice("metric.".length))
    : sortableTimes.get(name);
};

/** Compares by a sort such as `-finished_at,created_at`. Skips unknown keys; the latest change comes first by default. */
export function compareBy<R extends Run>(sort: string, keys: SortKeys<R>): (a: R, b: R) => number {
  const terms = [...sort.split(","), "-updated_at"].flatMap((term) => {
    const direction = term.startsWith("-") ? -1 : 1;
    const valueOf = keys(direction < 0 ? term.slice(1) : term);
    return valueOf ? [{ direction, valueOf }] : [];
  });
  return (a, b) => {
    for (const { direction, valueOf } of terms) {
      const [left, right] = [valueOf(a) ?? Infinity, valueOf(b) ?? Infinity];
      if (left !== right) return left < right ? -direction : direction;
    }
    return (terms[0]?.direction ?? -1) * (a.id - b.id);
  };
}
