import type { z } from "zod";
import { UpstreamError } from "./errors.ts";

/**
 * How the answer of a row is taken: `json` through a zod schema, `text` and `bytes` as streams,
 * `nothing` when the document marks the row ∅: any body is accepted and dropped.
 */
export type Reader<Answer> =
  | { readonly form: "json"; readonly read: (body: unknown) => Reading<Answer> }
  | { readonly form: "text" | "bytes" | "nothing"; readonly read: () => Reading<Answer> };

/** An answer and the places in it that had a wrong type and read as null, such as `results.3.started_at`. */
export interface Reading<out Answer> {
  readonly answer: Answer;
  readonly faults: readonly string[];
}

const nothing = { answer: undefined, faults: [] };

export const Nothing: Reader<undefined> = { form: "nothing", read: () => nothing };
/** A log: text of any length, read as a window or streamed through. */
export const Text: Reader<undefined> = { form: "text", read: () => nothing };
/** A download, streamed through. */
export const Bytes: Reader<undefined> = { form: "bytes", read: () => nothing };

/** Reads a JSON answer tolerantly with a schema. */
export const json = <Schema extends z.ZodType>(schema: Schema): Reader<z.output<Schema>> => ({
  form: "json",
  read: (body) => readTolerantly(schema, body),
});

/**
 * Parses, and where a value has the wrong type reads it as null; where null is not possible either,
 * its parent becomes null, and so on outwards, as GraphQL does it with its own nulls.
 * Throws `UpstreamError` when that reaches the record itself. The body is left as it came.
 */
export function readTolerantly<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): Reading<z.output<Schema>> {
  const first = schema.safeParse(body);
  if (first.success) return { answer: first.data, faults: [] };

  // So many wrong values are no slips of a server that answers what it should.
  if (first.error.issues.length > MOST_FAULTS)
    throw outsideTheDocument(nameOf(first.error.issues[0]?.path ?? []));
  const mended: unknown = structuredClone(body);
  const faults = new Set<string>();
  const nulled = new Set<string>();
  let { issues } = first.error;
  for (;;) {
    const round = new Set<string>();
    for (const { path } of issues) {
      if (prefixes(path).some((prefix) => round.has(prefix))) continue;
      const depth = prefixes(path).findLastIndex((prefix) => !nulled.has(prefix)) + 1;
      if (depth === 0) throw outsideTheDocument([...faults][0] ?? nameOf(path));
      put(mended, path.slice(0, depth));
      round.add(nameOf(path.slice(0, depth)));
      faults.add(nameOf(path));
    }
    for (const place of round) nulled.add(place);
    const next = schema.safeParse(mended);
    if (next.success) return { answer: next.data, faults: [...faults] };
    ({ issues } = next.error);
  }
}

/** Most values of one answer that are read as null because of their type. */
const MOST_FAULTS = 1_000;

const nameOf = (path: readonly PropertyKey[]) => path.map(String).join(".");

/** `a`, `a.b`, `a.b.c` for the path a, b, c. */
const prefixes = (path: readonly PropertyKey[]) => path.map((_, end) => nameOf(path.slice(0, end + 1)));

const outsideTheDocument = (place: string) =>
  new UpstreamError(
    "UPSTREAM_BAD_RESPONSE",
    place === ""
      ? "Expected a JSON object from the service, got something else."
      : `The service's answer cannot be used: ${place} is missing or of another type than documented.`,
  );

function put(root: unknown, path: readonly PropertyKey[]): void {
  let parent = root;
  for (const key of path.slice(0, -1)) parent = Reflect.get(Object(parent), key);
  const last = path.at(-1);
  if (last !== undefined && typeof parent === "object" && parent !== null) Reflect.set(parent, last, null);
}

/** Deepest nesting of an answer: the documented ones have six levels. Deeper ones break what walks them. */
const DEEPEST = 200;

/**
 * Parses JSON text. Python's encoder writes `NaN` and `Infinity`, which are no JSON: they read as null.
 * Throws `SyntaxError`.
 */
export function parseJson(text: string): unknown {
  const bare = text.startsWith("\uFEFF") ? text.slice(1) : text;
  if (isTooDeep(bare)) throw new SyntaxError(`nested more than ${DEEPEST} levels deep`);
  try {
    return JSON.parse(bare);
  } catch (fault) {
    if (!/NaN|Infinity/.test(bare)) throw fault;
    // A string that never closes matches to the end: without that, each of its quotes would be tried anew.
    const mended = bare.replace(/"(?:[^"\\]|\\.)*(?:"|\\?$)|-?\b(?:NaN|Infinity)\b/gs, (token) =>
      token.startsWith('"') ? token : "null",
    );
    return JSON.parse(mended);
  }
}

const [QUOTE, BACKSLASH] = ['"', "\\"].map((character) => character.charCodeAt(0));
const [OPEN_LIST, OPEN_OBJECT] = ["[", "{"].map((character) => character.charCodeAt(0));
const [CLOSE_LIST, CLOSE_OBJECT] = ["]", "}"].map((character) => character.charCodeAt(0));

function isTooDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === BACKSLASH) index++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      if (++depth > DEEPEST) return true;
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
  }
  return false;
}
