import { MAX_NESTING } from "../../nesting.ts";
import * as z from "zod";
import { UpstreamError } from "../../errors.ts";
import { isObject, readerAsIs } from "./as-is.ts";

/**
 * Reads the response of an endpoint: `json` with a zod schema, `text` and `bytes` as streams. `nothing`, for endpoints
 * that the document marks ∅, ignores any body.
 */
export type Reader<Answer> =
  | JsonReader<Answer>
  | { readonly form: "text" | "bytes" | "nothing"; readonly read: () => Reading<Answer> };

export interface JsonReader<Answer> {
  readonly form: "json";
  readonly read: (body: unknown) => Reading<Answer>;
  /** Reads a long response in steps of about a millisecond. Absent for endpoints with short responses. */
  readonly steps?: (body: unknown) => Iterator<undefined, Reading<Answer>>;
  /** Creates the reader for another server's envelope. Absent when the response is not a page. */
  readonly inEnvelope?: (envelope: Envelope) => Reader<Answer>;
}

/** The keys of a page. Dots address nested objects: `meta.total`. */
export interface Envelope {
  /** Key of the items; null when the response is the list itself. */
  readonly items: string | null;
  /** Key of the length of the whole list; null without one. */
  readonly count: string | null;
  /** Key of the next page's link or cursor; null without one. */
  readonly next: string | null;
  /** Whether `next` is a link. Links are text; cursors may be numbers. */
  readonly hasLinks: boolean;
}

export type AnswerOf<Each extends Reader<unknown>> =
  ReturnType<Each["read"]> extends Reading<infer Answer> ? Answer : never;

/** A parsed response. `faults` lists the places with a wrong type, which read as null, such as `results.3.started_at`. */
export interface Reading<out Answer> {
  readonly answer: Answer;
  readonly faults: readonly string[];
}

const nothing = { answer: undefined, faults: [] };

export const Nothing: Reader<undefined> = { form: "nothing", read: () => nothing };
/** A log of any length, read as a window or streamed to the caller. */
export const Text: Reader<undefined> = { form: "text", read: () => nothing };
/** A download, streamed to the caller. */
export const Bytes: Reader<undefined> = { form: "bytes", read: () => nothing };

/** Creates a tolerant reader of JSON responses. */
export const json = <Schema extends z.ZodType>(schema: Schema): Reader<z.output<Schema>> => ({
  form: "json",
  read: (body) => readTolerantly(schema, body),
});

type LongJsonReader<Answer> = JsonReader<Answer> & Required<Pick<JsonReader<Answer>, "steps">>;

/** Takes all steps at once. */
function readAll<Answer>(steps: Iterator<undefined, Reading<Answer>>): Reading<Answer> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Creates the reader of a long response from its steps. */
export const inSteps = <Answer>(
  steps: (body: unknown) => Iterator<undefined, Reading<Answer>>,
): LongJsonReader<Answer> => ({ form: "json", read: (body) => readAll(steps(body)), steps });

/**
 * Creates a reader of JSON responses with a long list under a key. The schema accepts any items there; they are read one
 * by one, which allows pauses and stops at `MAX_FAULTS`. A schema of the whole would collect millions of faults first.
 */
export const jsonWithList = <
  Schema extends z.ZodObject,
  Key extends keyof z.output<Schema> & string,
  Item extends z.ZodType,
>(
  schema: Schema,
  key: Key,
  item: Item,
): LongJsonReader<WithList<z.output<Schema>, Key, z.output<Item>>> => {
  type Answer = WithList<z.output<Schema>, Key, z.output<Item>>;

  /** Yields regularly and returns the parsed response. */
  function* steps(body: unknown): Generator<undefined, Reading<Answer>> {
    const { answer, faults } = readTolerantly(schema, body);
    const list: unknown = answer[key];
    const items = Array.isArray(list) ? yield* readEach(item, list, { place: key, faults }) : list;
    if (items === UNREADABLE && !acceptsNull(schema.shape[key]))
      throw outsideTheDocument(faults.at(-1) ?? key);
    const read = key in answer ? { ...answer, [key]: items === UNREADABLE ? null : items } : answer;
    // Safe: the key holds the parsed items, or what the schema accepts instead of a list.
    return { answer: read as Answer, faults };
  }

  return inSteps(steps);
};

/** `Whole` with a list of `Item` under a key; null or absent only where the schema allows it. */
type WithList<Whole, Key extends keyof Whole, Item> = Omit<Whole, Key> & {
  readonly [Each in Key]: readonly Item[] | Extract<Whole[Each], null | undefined>;
};

/**
 * Parses tolerantly: a value of the wrong type reads as null, and where null is not allowed it propagates to the parent,
 * as in GraphQL. Throws `UpstreamError` when it propagates to the record itself. Does not modify the body.
 */
export function readTolerantly<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): Reading<z.output<Schema>> & { readonly faults: string[] } {
  const faults: string[] = [];
  const answer = readPart(schema, body, { place: "", faults });
  if (answer === UNREADABLE) throw outsideTheDocument(faults.at(-1) ?? "");
  // Safe: each part was parsed by its own schema, or is a null that the schema allows.
  return { answer: answer as z.output<Schema>, faults };
}

/** Maximum faults of one response. Above it the response is rejected. */
const MAX_FAULTS = 1_000;

/** The place of a part in the response, and the faults found so far. The last fault is the cause of `UNREADABLE`. */
interface ReadContext {
  readonly place: string;
  readonly faults: string[];
}

const UNREADABLE = Symbol("neither of its type nor null");

/**
 * Reads a part of a response. When an object fails to parse, its keys are read one by one, without copying.
 * The casts here and below are safe because schemas of zod's classic API contain only such schemas.
 */
function readPart(schema: z.ZodType, value: unknown, context: ReadContext): unknown {
  const unchanged = readerAsIs(schema)(value);
  if (unchanged !== undefined) return unchanged;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  if (schema instanceof z.ZodPipe) {
    const read = readPart(schema.in as z.ZodType, value, context);
    return read === UNREADABLE ? read : (schema.out as z.ZodType).parse(read);
  }
  const fields = fieldsIn(schema);
  const record = fields && isObject(value) ? readFields(fields, value, context) : null;
  if (record === null) addFault(context, parsed.error.issues[0]?.path ?? []);
  if (record !== null && record !== UNREADABLE) return record;
  return acceptsNull(schema) ? null : UNREADABLE;
}

function readFields(
  fields: z.ZodObject,
  value: Record<string, unknown>,
  { place, faults }: ReadContext,
): Record<string, unknown> | typeof UNREADABLE {
  const record: Record<string, unknown> = {};
  for (const [key, field] of Object.entries<z.ZodType>(fields.shape)) {
    if (!(key in value) && field.safeParse(undefined).success) continue;
    const read = readPart(field, value[key], { place: placeOf(place, key), faults });
    if (read === UNREADABLE) return UNREADABLE;
    record[key] = read;
  }
  return record;
}

/** Items read between two pauses: about a millisecond. */
const ITEMS_AT_A_TIME = 50;

function* readEach(
  item: z.ZodType,
  list: readonly unknown[],
  { place, faults }: ReadContext,
): Generator<undefined, unknown[] | typeof UNREADABLE> {
  const items: unknown[] = [];
  for (const [index, value] of list.entries()) {
    if (index > 0 && index % ITEMS_AT_A_TIME === 0) yield;
    const read = readPart(item, value, { place: placeOf(place, index), faults });
    if (read === UNREADABLE) return UNREADABLE;
    items.push(read);
  }
  return items;
}

/** The object schema inside optional and nullable wrappers; null for other schemas. */
function fieldsIn(schema: z.ZodType): z.ZodObject | null {
  if (schema instanceof z.ZodObject) return schema;
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? fieldsIn(schema.unwrap() as z.ZodType)
    : null;
}

const acceptsNull = (schema: z.ZodType | undefined) => schema?.safeParse(null).success === true;

const placeOf = (place: string, key: PropertyKey) => (place === "" ? String(key) : `${place}.${String(key)}`);

/** Records a fault. Throws `UpstreamError` above `MAX_FAULTS`. */
function addFault({ place, faults }: ReadContext, path: readonly PropertyKey[]): void {
  faults.push(path.reduce(placeOf, place));
  if (faults.length > MAX_FAULTS) throw outsideTheDocument(faults[0] ?? place);
}

const outsideTheDocument = (place: string) =>
  new UpstreamError(
    "UPSTREAM_BAD_RESPONSE",
    place === ""
      ? "Expected a JSON object from the service, got something else."
      : `The service's answer cannot be used: ${place} is missing or of another type than documented.`,
  );

/**
 * Parses JSON. `NaN` and `Infinity`, which Python's encoder writes, read as null. `onHeap` receives the approximate heap
 * size of the values, in bytes, before they are parsed, and may throw. Throws `SyntaxError`.
 */
export function parseJson(text: string, onHeap: (bytes: number) => void = () => {}): unknown {
  const bare = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const { isTooDeep, heapBytes } = scan(bare);
  if (isTooDeep) throw new SyntaxError(`nested more than ${MAX_NESTING} levels deep`);
  onHeap(heapBytes);
  try {
    return JSON.parse(bare);
  } catch (error) {
    if (!/NaN|Infinity/.test(bare)) throw error;
    // An unclosed string matches up to the end; otherwise each of its quotes would start another search.
    const repaired = bare.replace(/"(?:[^"\\]|\\.)*(?:"|\\?$)|-?\b(?:NaN|Infinity)\b/gs, (token) =>
      token.startsWith('"') ? token : "null",
    );
    return JSON.parse(repaired);
  }
}

const [QUOTE, BACKSLASH, COMMA] = ['"', "\\", ","].map((character) => character.charCodeAt(0));
const [OPEN_LIST, OPEN_OBJECT] = ["[", "{"].map((character) => character.charCodeAt(0));
const [CLOSE_LIST, CLOSE_OBJECT] = ["]", "}"].map((character) => character.charCodeAt(0));

/** Measured heap size of a list or object and of each item. An empty list takes twenty times its text. */
const BYTES_PER_CONTAINER = 50;
const BYTES_PER_ITEM = 12;

interface Scanned {
  readonly isTooDeep: boolean;
  readonly heapBytes: number;
}

/** Up to this length a text with few brackets is not scanned, because the bound of its heap size is small. */
const SHORT_TEXT = 16_384;

/** Checks the nesting of a JSON text and estimates the heap size of its values without strings, in bytes. */
function scan(text: string): Scanned {
  if (text.length <= SHORT_TEXT) {
    const brackets = countUpTo(MAX_NESTING, text, "{") + countUpTo(MAX_NESTING, text, "[");
    // Every second character may be a comma.
    const heapBytes = brackets * BYTES_PER_CONTAINER + (text.length * BYTES_PER_ITEM) / 2;
    if (brackets <= MAX_NESTING) return { isTooDeep: false, heapBytes };
  }
  return scanCharacters(text);
}

/** Counts a character, up to one more than `max`. */
function countUpTo(max: number, text: string, character: string): number {
  let count = 0;
  for (let at = text.indexOf(character); at !== -1 && count <= max; at = text.indexOf(character, at + 1))
    count++;
  return count;
}

function scanCharacters(text: string): Scanned {
  let depth = 0;
  let heapBytes = 0;
  let inString = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === BACKSLASH) index++;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === COMMA) heapBytes += BYTES_PER_ITEM;
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      heapBytes += BYTES_PER_CONTAINER;
      if (++depth > MAX_NESTING) return { isTooDeep: true, heapBytes };
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
  }
  return { isTooDeep: false, heapBytes };
}
