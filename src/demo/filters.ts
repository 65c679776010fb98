import { Refusal } from "./exchange.ts";
import { type Build, type Experiment, type Job, lastStatus, type Run, span } from "./model.ts";

type Value = string | number;

/** A key that a query can name: the run's values under it, and how an operand of it is read. */
interface Key<R> {
  readonly valuesOf: (run: R) => readonly Value[];
  readonly read: (text: string) => Value;
}

export type Keys<R> = (name: string) => Key<R> | undefined;

const text = (operand: string) => operand;

function number(operand: string): number {
  const value = Number(operand);
  if (operand !== "" && Number.isFinite(value)) return value;
  throw new Refusal(400, [`Scalar operation requires int or float params, receive ${operand}.`]);
}

function date(operand: string): number {
  const value = Date.parse(operand);
  if (Number.isFinite(value)) return value;
  throw new Refusal(400, [`Datetime operation requires a date, receive ${operand}.`]);
}

const present = <V extends Value>(value: V | null | undefined): V[] =>
  value === null || value === undefined ? [] : [value];

const shared = new Map<string, Key<Run>>([
  ["id", { valuesOf: (run) => [run.id], read: number }],
  ["name", { valuesOf: (run) => present(run.name), read: text }],
  ["status", { valuesOf: (run) => [lastStatus(run)], read: text }],
  ["tags", { valuesOf: (run) => run.tags ?? [], read: text }],
  ["user.username", { valuesOf: (run) => [run.user], read: text }],
  ["created_at", { valuesOf: (run) => [run.createdAt], read: date }],
  ["updated_at", { valuesOf: (run) => [run.updatedAt], read: date }],
  ["started_at", { valuesOf: (run) => present(span(run.statuses).startedAt), read: date }],
  ["finished_at", { valuesOf: (run) => present(span(run.statuses).finishedAt), read: date }],
]);

const buildKey = { valuesOf: (run: { build: Build | null }) => present(run.build?.id), read: number };

export const runKeys: Keys<Run> = (name) => shared.get(name);

export const jobKeys: Keys<Job> = (name) => (name === "build" ? buildKey : shared.get(name));

export const experimentKeys: Keys<Experiment> = (name) => {
  if (name === "build") return buildKey;
  if (name === "group") return { valuesOf: ({ group }) => present(group?.id), read: number };
  const [prefix, inner] = name.split(/\.(.*)/s);
  if (prefix === "metric" && inner)
    return { valuesOf: (run) => present(lastMetric(run, inner)), read: number };
  if (prefix === "declarations" && inner) return { valuesOf: (run) => declared(run, inner), read: text };
  return shared.get(name);
};

/** The latest number recorded under a name; null when there is none. */
export function lastMetric(experiment: Experiment, name: string): number | null {
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
 * Reads a query such as `status:running|failed,metric.loss:<0.2,id:~3` into a test that a run must pass.
 * The manager is the name under which a refusal speaks of the list.
 */
export function readQuery<R>(query: string, manager: string, keys: Keys<R>): (run: R) => boolean {
  const tests = query
    .split(",")
    .map((expression) => expression.trim())
    .filter((expression) => expression !== "")
    .map((expression) => readExpression(expression, manager, keys));
  return (run) => tests.every((test) => test(run));
}

function readExpression<R>(expression: string, manager: string, keys: Keys<R>): (run: R) => boolean {
  const [name, operation, ...rest] = expression.split(":").map((part) => part.trim());
  if (!name || !operation || rest.length > 0) {
    const rule = "Expression is not valid, it must be formatted as name:operation";
    throw new Refusal(400, [`${rule}, Expression: ${expression}`]);
  }
  const key = keys(name);
  if (!key) throw new Refusal(400, [`key \`${name}\` is not supported by query manager \`${manager}\`.`]);
  const isNegated = operation.startsWith("~");
  const test = readOperation(isNegated ? operation.slice(1) : operation, key.read);
  return (run) => key.valuesOf(run).some(test) !== isNegated;
}

function readOperation(operation: string, read: (text: string) => Value): (value: Value) => boolean {
  const [, sign = "", operand = ""] = /^(<=|>=|<|>)(.*)$/s.exec(operation) ?? [];
  const compare = comparisons.get(sign);
  if (compare) {
    const bound = read(operand.trim());
    return (value) => compare(value, bound);
  }
  const wanted = new Set(operation.split("|").map((part) => read(part.trim())));
  return (value) => wanted.has(value);
}
