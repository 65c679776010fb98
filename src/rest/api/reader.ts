import { z } from "zod";
import { UpstreamError } from "../../errors.ts";

/**
 * How the answer of an endpoint is taken: `json` through a zod schema, `text` and `bytes` as streams,
 * `nothing` when the document marks the endpoint ∅: any body is accepted and dropped.
 */
export type Reader<Answer> =
  | JsonReader<Answer>
  | { readonly form: "text" | "bytes" | "nothing"; readonly read: () => Reading<Answer> };

export interface JsonReader<Answer> {
  readonly form: "json";
  readonly read: (body: unknown) => Reading<Answer>;
  /** The same of an answer that may be long, with a pause now and then. Absent where answers are short. */
  readonly readInTurns?: (body: unknown, pause: () => Promise<void>) => Promise<Reading<Answer>>;
  /** The same answer in the envelope of another server. Absent where the answer is no page of a list. */
  readonly inEnvelope?: (envelope: Envelope) => Reader<Answer>;
}

/** Where a server writes what a page consists of. Dots lead into objects: `meta.total`. */
export interface Envelope {
  /** The items; null where the response is the list itself. */
  readonly items: string | null;
  /** The length of the whole list; null where it is not told. */
  readonly count: string | null;
  /** Where the next page is; null where it is not told. */
  readonly next: string | null;
  /** Whether `next` is a link, which is text. A cursor may be a number. */
  readonly hasLinks: boolean;
}

export type AnswerOf<Each extends Reader<unknown>> =
  ReturnType<Each["read"]> extends Reading<infer Answer> ? Answer : never;

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

type LongJsonReader<Answer> = JsonReader<Answer> & Required<Pick<JsonReader<Answer>, "readInTurns">>;

/**
 * Reads a JSON answer that holds a list of records under a key. The schema takes the list for a list of anything;
 * its records are read one by one, so that faults are counted while they are found: a schema of the whole would
 * collect millions of them first.
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

  /** Yields now and then, and returns what was read. */
  function* steps(body: unknown): Generator<undefined, Reading<Answer>> {
    const { answer, faults } = readTolerantly(schema, body);
    const list: unknown = answer[key];
    const items = Array.isArray(list) ? yield* readEach(item, list, { place: key, faults }) : list;
    if (items === UNREADABLE && !takesNull(schema.shape[key])) throw outsideTheDocument(faults.at(-1) ?? key);
    const read = key in answer ? { ...answer, [key]: items === UNREADABLE ? null : items } : answer;
    // Under the key are the items now, or what the schema takes instead of a list.
    return { answer: read as Answer, faults };
  }

  return {
    form: "json",
    read: (body) => {
      const reading = steps(body);
      for (;;) {
        const step = reading.next();
        if (step.done) return step.value;
      }
    },
    readInTurns: async (body, pause) => {
      const reading = steps(body);
      for (;;) {
        const step = reading.next();
        if (step.done) return step.value;
        await pause();
      }
    },
  };
};

/** A record whose list under a key is one of items; null or absent only where the list may be that. */
type WithList<Whole, Key extends keyof Whole, Item> = Omit<Whole, Key> & {
  readonly [Each in Key]: readonly Item[] | Extract<Whole[Each], null | undefined>;
};

/**
 * Parses, and where a value has the wrong type reads it as null; where null is not possible either,
 * its parent becomes null, and so on outwards, as GraphQL does it with its own nulls.
 * Throws `UpstreamError` when that reaches the record itself. The body is left as it came.
 */
export function readTolerantly<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
): Reading<z.output<Schema>> & { readonly faults: string[] } {
  const faults: string[] = [];
  const answer = readPart(schema, body, { place: "", faults });
  if (answer === UNREADABLE) throw outsideTheDocument(faults.at(-1) ?? "");
  // Every part of it came out of its own schema, or is a null that the schema takes.
  return { answer: answer as z.output<Schema>, faults };
}

/** Most values of one answer that are read as null because of their type: more are no slips of a server. */
const MOST_FAULTS = 1_000;

/** Where in an answer a part stands, and the faults found so far; the last one is why something is unreadable. */
interface Here {
  readonly place: string;
  readonly faults: string[];
}

const UNREADABLE = Symbol("neither of its type nor null");

/**
 * A part of an answer. What is wrong in an object is looked for key by key, and nothing is copied for it.
 * The casts here and below are true because schemas made with zod's classic API hold only such schemas.
 */
function readPart(schema: z.ZodType, value: unknown, here: Here): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  if (schema instanceof z.ZodPipe) {
    const read = readPart(schema.in as z.ZodType, value, here);
    return read === UNREADABLE ? read : (schema.out as z.ZodType).parse(read);
  }
  const fields = fieldsIn(schema);
  const record = fields && isObject(value) ? readFields(fields, value, here) : null;
  if (record === null) tell(here, parsed.error.issues[0]?.path ?? []);
  if (record !== null && record !== UNREADABLE) return record;
  return takesNull(schema) ? null : UNREADABLE;
}

function readFields(
  fields: z.ZodObject,
  value: Record<string, unknown>,
  { place, faults }: Here,
): Record<string, unknown> | typeof UNREADABLE {
  const record: Record<string, unknown> = {};
  for (const [key, field] of Object.entries<z.ZodType>(fields.shape)) {
    if (!(key in value) && field.safeParse(undefined).success) continue;
    const read = readPart(field, value[key], { place: below(place, key), faults });
    if (read === UNREADABLE) return UNREADABLE;
    record[key] = read;
  }
  return record;
}

/** Items that are read without a pause: about a millisecond. */
const ITEMS_AT_A_TIME = 50;

function* readEach(
  item: z.ZodType,
  list: readonly unknown[],
  { place, faults }: Here,
): Generator<undefined, unknown[] | typeof UNREADABLE> {
  const items: unknown[] = [];
  for (const [index, value] of list.entries()) {
    if (index > 0 && index % ITEMS_AT_A_TIME === 0) yield;
    const read = readPart(item, value, { place: below(place, index), faults });
    if (read === UNREADABLE) return UNREADABLE;
    items.push(read);
  }
  return items;
}

/** The object that a schema is about: itself, or what it takes beside null and nothing. */
function fieldsIn(schema: z.ZodType): z.ZodObject | null {
  if (schema instanceof z.ZodObject) return schema;
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable
    ? fieldsIn(schema.unwrap() as z.ZodType)
    : null;
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const takesNull = (schema: z.ZodType | undefined) => schema?.safeParse(null).success === true;

const below = (place: string, key: PropertyKey) => (place === "" ? String(key) : `${place}.${String(key)}`);

/** Throws `UpstreamError` when there are too many. */
function tell({ place, faults }: Here, path: readonly PropertyKey[]): void {
  faults.push(path.reduce(below, place));
  if (faults.length > MOST_FAULTS) throw outsideTheDocument(faults[0] ?? place);
}

const outsideTheDocument = (place: string) =>
  new UpstreamError(
    "UPSTREAM_BAD_RESPONSE",
    place === ""
      ? "Expected a JSON object from the service, got something else."
      : `The service's answer cannot be used: ${place} is missing or of another type than documented.`,
  );

/** Deepest nesting of an answer: the documented ones have six levels. Deeper ones break what walks them. */
export const DEEPEST = 200;

/**
 * Parses JSON text. Python's encoder writes `NaN` and `Infinity`, which are no JSON: they read as null. `onHeap` is
 * told how many bytes the values will take before they are made, and may throw. Throws `SyntaxError`.
 */
export function parseJson(text: string, onHeap: (bytes: number) => void = () => {}): unknown {
  const bare = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const { isTooDeep, heapBytes } = scan(bare);
  if (isTooDeep) throw new SyntaxError(`nested more than ${DEEPEST} levels deep`);
  onHeap(heapBytes);
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

const [QUOTE, BACKSLASH, COMMA] = ['"', "\\", ","].map((character) => character.charCodeAt(0));
const [OPEN_LIST, OPEN_OBJECT] = ["[", "{"].map((character) => character.charCodeAt(0));
const [CLOSE_LIST, CLOSE_OBJECT] = ["]", "}"].map((character) => character.charCodeAt(0));

/** What a list or an object, and an item of one, take of the heap, measured: an empty list is twenty times its text. */
const BYTES_PER_CONTAINER = 50;
const BYTES_PER_ITEM = 12;

/** Whether a JSON text is nested too deeply, and about how many bytes its values will take, beside their texts. */
function scan(text: string): { readonly isTooDeep: boolean; readonly heapBytes: number } {
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
      if (++depth > DEEPEST) return { isTooDeep: true, heapBytes };
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) depth--;
  }
  return { isTooDeep: false, heapBytes };
}
