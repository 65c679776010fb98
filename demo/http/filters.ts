import { lastStatus, spanOf } from "../statuses.ts";
import type { Build, Experiment, Group, Job, Run } from "../store.ts";
import { HttpError } from "./messages.ts";

/*
 * The language of `?query=` as release 0.4.4 reads it: comma-separated expressions such as `status:~running|failed`, all of which a run
 * must meet.
 */

type Value = string | number;

/** Whether the values that a run has for a key meet an operation. */
type Test = (values: readonly Value[]) => boolean;

/** A key that a query can name: a run's values for it, and how an operation on it is read. */
interface FilterKey<R> {
  readonly valuesOf: (run: R) => readonly Value[];
  readonly parse: (operation: string) => Test;
}

export type FilterKeys<R> = (name: string) => FilterKey<R> | undefined;

/** Parses a query into a predicate of runs. Error messages contain the name of the list's manager. */
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
  if (!name || !operation || rest.length > 0) throw invalid(`Expression: ${expression}`);
  const key = keys(name);
  if (!key) throw new HttpError(400, [`key \`${name}\` is not supported by query manager \`${manager}\`.`]);
  const test = key.parse(operation);
  return (run) => test(key.valuesOf(run));
}

const invalid = (what: string) =>
  new HttpError(400, [`Expression is not valid, it must be formatted as name:operation, ${what}`]);

function refuse(sign: string, form: string, operation: string): void {
  if (!operation.includes(sign)) return;
  throw new HttpError(400, [`\`${sign}\` is not allowed for ${form} operations. Operation: ${operation}`]);
}

const comparisons = new Map<string, (value: Value, bound: Value) => boolean>([
  ["<=", (value, bound) => value <= bound],
  [">=", (value, bound) => value >= bound],
  ["<", (value, bound) => value < bound],
  [">", (value, bound) => value > bound],
  ["", (value, bound) => value === bound],
]);

/** A negated comparison is the opposite one, which a missing value does not meet either. */
const opposites = new Map([
  ["<=", ">"],
  [">=", "<"],
  ["<", ">="],
  [">", "<="],
]);

/** The parts of an operation such as `~>=0.5`. */
function partsOf(operation: string): { isNegated: boolean; sign: string; operand: string } {
  const isNegated = operation.startsWith("~");
  const rest = operation.slice(isNegated ? 1 : 0).trim();
  const [, sign = "", operand = ""] = /^(<=|>=|<|>)?(.*)$/s.exec(rest) ?? [];
  if (operand.trim() === "") throw invalid(`Operation: ${operation}`);
  return { isNegated, sign, operand: operand.trim() };
}

function compare(sign: string, isNegated: boolean, bound: Value): Test {
  const opposite = isNegated ? opposites.get(sign) : undefined;
  const isMet = comparisons.get(opposite ?? sign);
  const isInverted = isNegated && opposite === undefined;
  return (values) => values.some((value) => isMet?.(value, bound)) !== isInverted;
}

/** One value or a set of them. */
const inValues =
  (toValue: (text: string) => Value) =>
  (operation: string): Test => {
    refuse("..", "value", operation);
    const { isNegated, sign, operand } = partsOf(operation);
    const fault = `is not allowed for value operations, Operation: ${operation}`;
    if (sign) throw new HttpError(400, [`\`${sign}\` ${fault}`]);
    const parts = operand.split("|").map((part) => part.trim());
    const values = parts.filter((part) => part !== "").map(toValue);
    if (parts.length > 1 && values.length <= 1) throw new HttpError(400, [`\`|\` ${fault}`]);
    const set = new Set(values);
    return (found) => found.some((value) => set.has(value)) !== isNegated;
  };

function scalar(operation: string): Test {
  refuse("|", "scalar", operation);
  refuse("..", "scalar", operation);
  const { isNegated, sign, operand } = partsOf(operation);
  const bound = Number(operand);
  if (Number.isFinite(bound)) return compare(sign, isNegated, bound);
  throw new HttpError(400, [`Scalar operation requires int or float params, receive ${operation}.`]);
}

function dates(operation: string): Test {
  refuse("|", "datetime", operation);
  const { isNegated, sign, operand } = partsOf(operation);
  if (!operand.includes("..")) return compare(sign, isNegated, midnight(operand));
  const [from = 0, to = 0, ...rest] = operand.split("..").map((part) => midnight(part.trim()));
  if (rest.length > 0) throw invalid(`ranges requires only 2 params, Operation: ${operation}`);
  return (values) => values.some((value) => Number(value) >= from && Number(value) <= to) !== isNegated;
}

/** The beginning of a day. Real servers crash if the value is not a date. */
function midnight(text: string): number {
  const time = /^\d{4}-\d\d?-\d\d?$/.test(text) ? Date.parse(`${text} UTC`) : Number.NaN;
  if (Number.isFinite(time)) return time;
  throw new TypeError(`expected a date, got ${text}`);
}

/** An internal id. Real servers crash if the value is not one, such as a user's name. */
function internalId(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new TypeError(`expected an integer, got ${text}`);
}

const text = inValues((operand) => operand);
const ids = inValues(internalId);

const present = <V extends Value>(value: V | null | undefined): V[] =>
  value === null || value === undefined ? [] : [value];

const sharedKeys = new Map<string, FilterKey<Run>>([
  ["id", { valuesOf: (run) => [run.id], parse: ids }],
  ["name", { valuesOf: (run) => present(run.name), parse: text }],
  ["status", { valuesOf: (run) => [lastStatus(run)], parse: text }],
  ["tags", { valuesOf: (run) => run.tags ?? [], parse: text }],
  ["user", { valuesOf: () => [], parse: ids }],
  ["user.username", { valuesOf: (run) => [run.user], parse: text }],
  ["project", { valuesOf: (run) => [run.project.id], parse: ids }],
  ["project.name", { valuesOf: (run) => [run.project.name], parse: text }],
  ["created_at", { valuesOf: (run) => [run.createdAt], parse: dates }],
  ["updated_at", { valuesOf: (run) => [run.updatedAt], parse: dates }],
  ["started_at", { valuesOf: (run) => present(spanOf(run.statuses).startedAt), parse: dates }],
  ["finished_at", { valuesOf: (run) => present(spanOf(run.statuses).finishedAt), parse: dates }],
]);

type Built = Experiment | Job;
const ofBuild = { valuesOf: ({ build }: Built) => present(build?.id), parse: ids };
const builtKeys = new Map<string, FilterKey<Built>>([
  ["build", ofBuild],
  ["build.id", ofBuild],
  ["commit", { valuesOf: ({ build }) => present(build?.commit), parse: text }],
]);

const ofGroup = { valuesOf: ({ group }: Experiment) => present(group?.id), parse: ids };
/** Any word other than `true` filters nothing. */
const independent = {
  valuesOf: ({ group }: Experiment) => [group ? "no" : "yes"],
  parse: (operation: string) => (operation === "true" ? text("yes") : () => true),
};
/** The demo does not know where its experiments ran, or in which framework. */
const unknown = { valuesOf: () => [], parse: text };
const memberKeys = new Map<string, FilterKey<Experiment>>([
  ["group", ofGroup],
  ["group.id", ofGroup],
  ["independent", independent],
  ["backend", unknown],
  ["framework", unknown],
]);

export const groupKeys: FilterKeys<Group> = (name) => sharedKeys.get(name);

export const buildKeys: FilterKeys<Build> = (name) =>
  name === "commit" ? { valuesOf: ({ commit }) => [commit], parse: text } : sharedKeys.get(name);

export const jobKeys: FilterKeys<Job> = (name) => builtKeys.get(name) ?? sharedKeys.get(name);

export const experimentKeys: FilterKeys<Experiment> = (name) => {
  const [prefix, inner, ...rest] = name.split(".");
  if (inner && rest.length === 0) {
    if (prefix === "metric") return { valuesOf: (run) => present(lastMetric(run, inner)), parse: scalar };
    if (prefix === "declarations") return { valuesOf: (run) => declared(run, inner), parse: text };
  }
  return memberKeys.get(name) ?? builtKeys.get(name) ?? sharedKeys.get(name);
};

/** The latest number recorded under a name; null if there is none. */
export function lastMetric(experiment: Experiment, name: string): number | null {
  const value = experiment.metrics.at(-1)?.latest[name];
  return typeof value === "number" ? value : null;
}

/** Only strings are compared: a number does not match its digits. */
function declared(experiment: Experiment, name: string): string[] {
  const value = experiment.declarations?.[name];
  return typeof value === "string" ? [value] : [];
}
