import { isDeepStrictEqual } from "node:util";
import { InputError } from "../../errors.ts";
import { notOffered } from "../../rest/api/endpoint.ts";
import { checkLength, type Condition, isSayable, meaningOf } from "../../rest/api/list-query.ts";
import { valueAt } from "../../rest/api/record.ts";
import type { Server } from "../../rest/api/server.ts";
import { type IsMatch, isInRows, valueOf } from "./list-scan.ts";
import { finite } from "./series.ts";

/*
 * Filters that the gateway compares itself, with the rows of a list: what the language of servers cannot say.
 */

/** Bounds of a number, each by its name in filters: whether a value is within it. */
const BOUNDS = {
  greaterThan: (value: number, bound: number) => value > bound,
  atLeast: (value: number, bound: number) => value >= bound,
  lessThan: (value: number, bound: number) => value < bound,
  atMost: (value: number, bound: number) => value <= bound,
};

// Safe: these are the keys of the table.
const BOUND_NAMES = Object.keys(BOUNDS) as (keyof typeof BOUNDS)[];

type Bounds = { readonly [Name in keyof typeof BOUNDS]?: number | null | undefined };

/** The conditions that bounds are. Throws `InputError` for bounds that no number meets. */
export function boundConditions(
  named: Pick<Condition, "argument" | "key" | "name">,
  bounds: Bounds,
): readonly Condition[] {
  const { argument } = named;
  const { greaterThan, atLeast, lessThan, atMost } = bounds;
  const lower = Math.max(greaterThan ?? -Infinity, atLeast ?? -Infinity);
  const upper = Math.min(lessThan ?? Infinity, atMost ?? Infinity);
  const isOpen = greaterThan === lower || lessThan === upper;
  const conditions = BOUND_NAMES.flatMap((operator): readonly Condition[] => {
    const { [operator]: bound } = bounds;
    if (bound == null) return [];
    if (Number.isFinite(bound)) return [{ ...named, operator, operands: [`${bound}`] }];
    throw new InputError(`${argument}.${operator}: expected a finite number, got ${bound}`);
  });
  if (lower > upper || (lower === upper && isOpen))
    throw new InputError(`${argument}: expected bounds that a number can meet, got ${lower} to ${upper}`);
  return conditions;
}

/** Where rows have what conditions are about that no server may be able to say. */
const ROW_KEYS: { readonly [Key in Condition["key"]]?: string } = {
  name: "name",
  status: "last_status",
  tags: "tags",
  user: "user",
  metric: "last_metric",
  declaration: "declarations",
};

/**
 * Finds the conditions that the server's language cannot say, so that the gateway compares the rows with them. Throws
 * `Failure` where the rows of this server's lists do not tell what they are about, and `InputError` when they are too long.
 */
export function comparedOf(
  conditions: readonly Condition[],
  server: Server,
  record: string,
): readonly Condition[] {
  const compared = conditions.filter((condition) => ROW_KEYS[condition.key] && !isSayable(condition));
  if (compared.length > 0 && server.profile.filters.language === null)
    throw notOffered("the argument `filter`", "FILTERS");
  const untold = compared.find(({ key }) => !isInRows(server, record, ROW_KEYS[key] ?? ""));
  if (untold) throw notOffered(`\`${untold.argument}\` with what it cannot find by itself`);
  const texts = compared.flatMap(({ name = "", operands }) => [name, ...operands]);
  checkLength("filter", texts.join(""), "characters that the server cannot filter by");
  return compared;
}

/** Whether a row meets all conditions; null without one. */
export function conditionTest(conditions: readonly Condition[]): IsMatch | null {
  const tests = conditions.map(testOf);
  return tests.length === 0 ? null : (row) => tests.every((isMet) => isMet(row));
}

function testOf({ key, name, operator, operands }: Condition): IsMatch {
  const isMet =
    operator === "anyOf" || operator === "noneOf" ? isOneOf(key, operands) : isWithin(operator, operands);
  return (row) => {
    const value = valueOf(row, ROW_KEYS[key] ?? "");
    const found = name === undefined ? value : valueAt(value, name);
    const values = name === undefined && Array.isArray(found) ? found : [found];
    return values.some((each) => each !== undefined && isMet(each)) !== (operator === "noneOf");
  };
}

function isOneOf(key: Condition["key"], operands: readonly string[]) {
  const wanted = new Set<unknown>(operands);
  const meanings = key === "declaration" ? operands.map(meaningOf).filter((each) => each !== undefined) : [];
  return (value: unknown): boolean =>
    wanted.has(value) || meanings.some((meaning) => isDeepStrictEqual(value, meaning));
}

const isWithin =
  (operator: keyof typeof BOUNDS, [bound]: readonly string[]) =>
  (value: unknown) =>
    BOUNDS[operator](finite(value) ?? Number.NaN, Number(bound));

/* By words. Servers search no texts, so the gateway looks for the words in the rows of a list. */

/** Longest text of words. */
const MAX_WORDS_LENGTH = 200;

/** Letters that are the same to who searches have one spelling. */
const fold = (text: string): string => text.normalize("NFKC").toLowerCase();

/** Characters of a text that are looked at. */
const MAX_TEXT = 20_000;

export const WORDS = `Words, in any case, that all occur in name, description or tags (of each the first ${MAX_TEXT} characters). Found by a scan: see \`ListScan\`.`;

/** Whether a row has each of the words in what people write about runs; null without words. Throws `InputError`. */
export function wordsTest(text: string | null | undefined, argument: string): IsMatch | null {
  if (text == null) return null;
  if (text.length > MAX_WORDS_LENGTH)
    throw new InputError(`${argument}: expected at most ${MAX_WORDS_LENGTH} characters, got ${text.length}`);
  const words = fold(text).split(/\s+/u).filter(Boolean);
  if (words.length === 0) throw new InputError(`${argument}: expected at least one word, got none`);
  return (row) => {
    // Safe: any object has properties by name.
    const { name, description, tags } = row as Readonly<Record<string, unknown>>;
    const texts = [name, description, ...(Array.isArray(tags) ? tags : [])].map((each) =>
      typeof each === "string" ? fold(each.slice(0, MAX_TEXT)) : "",
    );
    return words.every((word) => texts.some((each) => each.includes(word)));
  };
}
