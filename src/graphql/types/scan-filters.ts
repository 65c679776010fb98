import { isDeepStrictEqual } from "node:util";
import { InputError } from "../../errors.ts";
import { notOffered } from "../../rest/api/endpoint.ts";
import type { Condition } from "../../rest/api/list-query.ts";
import { parseJson, roundedOf } from "../../rest/api/reader.ts";
import type { Server } from "../../rest/api/server.ts";
import { builder } from "../core/builder.ts";
import { type FindRows, findRows, isInRows, valueOf } from "./list-scan.ts";
import { finite } from "./series.ts";

/*
 * Filters that the gateway compares itself, with the rows of a list. By parameters: servers compare only texts of them.
 */

/** Bounds of a number, each by its name in filters: whether a value is within it. */
export const BOUNDS = {
  greaterThan: (value: number, bound: number) => value > bound,
  atLeast: (value: number, bound: number) => value >= bound,
  lessThan: (value: number, bound: number) => value < bound,
  atMost: (value: number, bound: number) => value <= bound,
};

// Safe: these are the keys of the table.
export const BOUND_NAMES = Object.keys(BOUNDS) as (keyof typeof BOUNDS)[];

type Bounds = { readonly [Name in keyof typeof BOUNDS]?: number | null | undefined };

/** Throws `InputError` for bounds that no number meets. */
export function checkBounds(argument: string, bounds: Bounds): void {
  for (const name of BOUND_NAMES) {
    const { [name]: bound } = bounds;
    if (bound != null && !Number.isFinite(bound))
      throw new InputError(`${argument}.${name}: expected a finite number, got ${bound}`);
  }
  const { greaterThan, atLeast, lessThan, atMost } = bounds;
  const lower = Math.max(greaterThan ?? -Infinity, atLeast ?? -Infinity);
  const upper = Math.min(lessThan ?? Infinity, atMost ?? Infinity);
  const isOpen = greaterThan === lower || lessThan === upper;
  if (lower > upper || (lower === upper && isOpen))
    throw new InputError(`${argument}: expected bounds that a number can meet, got ${lower} to ${upper}`);
}

export const DeclarationFilter = builder.inputType("DeclarationFilter", {
  description:
    "Values of a parameter. Servers compare texts only: numbers, booleans and lists are found by a scan, see `ListScan`. `runsUpdated` takes only texts.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name of the parameter." }),
    values: t.stringList({
      description:
        "Any of these, as text or JSON: `relu`, `0.5` (number or text), `true`, `[64, 32]` (as a whole).",
    }),
    greaterThan: t.float({ description: "Exclusive lower bound." }),
    atLeast: t.float({ description: "Inclusive lower bound." }),
    lessThan: t.float({ description: "Exclusive upper bound." }),
    atMost: t.float({ description: "Inclusive upper bound." }),
  }),
});

type Declared = typeof DeclarationFilter.$inferInput;
type Test = (value: unknown) => boolean;

/** Longest values of a parameter that are compared, in characters. */
const MAX_LENGTH = 2_000;

const boundsOf = (declared: Declared): readonly ((value: number) => boolean)[] =>
  BOUND_NAMES.flatMap((name) => {
    const { [name]: bound } = declared;
    return bound == null ? [] : [(value: number) => BOUNDS[name](value, bound)];
  });

/** What a text means besides itself: a number, a boolean, null or a list; undefined for one that is only text. */
function meaningOf(text: string): unknown {
  try {
    // The reader also takes `NaN`, which is no JSON.
    JSON.parse(text);
    const value = parseJson(Buffer.from(text));
    return typeof value === "string" && roundedOf(value) === null ? undefined : value;
  } catch {
    return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
  }
}

/** Whether a server can compare it: with texts that are nothing else. */
const isText = (declared: Declared): boolean =>
  boundsOf(declared).length === 0 && (declared.values ?? []).every((text) => meaningOf(text) === undefined);

/** The conditions that the server checks. Throws `InputError` for a parameter that is compared with nothing. */
export function declarationConditions(filters: readonly Declared[], list: string): readonly Condition[] {
  return filters.flatMap((declared, index) => {
    const argument = `${list}[${index}]`;
    const { name, values } = declared;
    const length = (values ?? []).join("").length;
    if (length > MAX_LENGTH)
      throw new InputError(`${argument}.values: expected at most ${MAX_LENGTH} characters, got ${length}`);
    if (values?.length === 0 || (!values && boundsOf(declared).length === 0))
      throw new InputError(`${argument}: expected at least one of \`values\` or a bound, got none`);
    checkBounds(argument, declared);
    if (!isText(declared)) return [];
    return [{ argument, key: "declaration", name, operator: "anyOf", operands: values ?? [] } as const];
  });
}

/** The conditions that only the rows can meet; null when the server checks all. */
export function declarationScan(filters: readonly Declared[] | null | undefined): FindRows | null {
  const scanned = (filters ?? []).filter((declared) => !isText(declared));
  if (scanned.length === 0) return null;
  const tests = scanned.map((declared) => [declared.name, testOf(declared)] as const);
  return findRows((row) => {
    const declarations = declarationsOf(row);
    return tests.every(([name, test]) => Object.hasOwn(declarations, name) && test(declarations[name]));
  });
}

function testOf(declared: Declared): Test {
  const bounds = boundsOf(declared);
  const values = declared.values?.map((text) => ({ text, meaning: meaningOf(text) }));
  const isOneOf: Test = (value) =>
    values?.some(
      ({ text, meaning }) =>
        value === text || value === meaning || (meaning !== undefined && isDeepStrictEqual(value, meaning)),
    ) ?? true;
  const isWithin: Test = (value) => bounds.every((isMet) => isMet(finite(value) ?? Number.NaN));
  return (value) => isOneOf(value) && isWithin(value);
}

/** The parameters of a row; none where it has null. Throws `UpstreamError` for a row that does not tell them. */
function declarationsOf(row: object): Readonly<Record<string, unknown>> {
  const declarations = valueOf(row, "declarations");
  // Safe: any object has properties by name.
  return typeof declarations === "object" && declarations !== null ? (declarations as never) : {};
}

/** Throws `UpstreamError` where the rows of this server's lists do not tell the parameters. */
export function requireDeclarations(server: Server, record: string): void {
  if (server.profile.filters.language === null) throw notOffered("the argument `filter`", "FILTERS");
  if (!isInRows(server, record, "declarations")) throw notOffered("filters by parameters other than texts");
}

/* By words. Servers search no texts, so the gateway looks for the words in the rows of a list. */

/** Longest text of words. */
const MAX_WORDS_LENGTH = 200;

const wordsOf = (text: string): readonly string[] => fold(text).split(/\s+/u).filter(Boolean);

/** Letters that are the same to who searches have one spelling. */
const fold = (text: string): string => text.normalize("NFKC").toLowerCase();

/** Checks the words. Throws `InputError`. */
export function checkWords(text: string, argument: string): void {
  if (text.length > MAX_WORDS_LENGTH)
    throw new InputError(`${argument}: expected at most ${MAX_WORDS_LENGTH} characters, got ${text.length}`);
  if (wordsOf(text).length === 0) throw new InputError(`${argument}: expected at least one word, got none`);
}

/** Checks the words of a filter: the server is told nothing of them. Throws `InputError`. */
export function wordsConditions(text: string, argument: string): readonly Condition[] {
  checkWords(text, argument);
  return [];
}

/** Finds the rows that have each of the words in what people write about runs; null without words. */
export function wordsScan(text: string | null | undefined): FindRows | null {
  if (text == null) return null;
  const words = wordsOf(text);
  return function* (rows) {
    const found: number[] = [];
    for (const [index, row] of rows.entries()) {
      const missing = new Set(words);
      for (const piece of piecesOf(row)) {
        yield;
        const folded = fold(piece);
        for (const word of missing) if (folded.includes(word)) missing.delete(word);
      }
      if (missing.size === 0) found.push(index);
    }
    return found;
  };
}

/** Longest part of a text that is looked at without a pause, and what two of them share: a word is in one as a whole. */
const PIECE = 5_000;
const SHARED = 1_000;

/** What people write about a run. */
function* piecesOf(row: object): Generator<string> {
  // Safe: any object has properties by name.
  const { name, description, tags } = row as Readonly<Record<string, unknown>>;
  for (const text of [name, description, ...(Array.isArray(tags) ? tags : [])]) {
    if (typeof text !== "string") continue;
    yield text.slice(0, PIECE);
    for (let from = PIECE - SHARED; from + SHARED < text.length; from += PIECE - SHARED)
      yield text.slice(from, from + PIECE);
  }
}
