import type { Caller } from "../../caller.ts";
import { Failure } from "../../errors.ts";
import { parseJson } from "../api/reader.ts";
import type { Reading } from "../api/record.ts";
import { EMPTY, NotUnderstood, readWhole } from "./body.ts";
import { mapErrorResponse } from "./error-mapping.ts";
import type { Order } from "./order.ts";
import type { Dialect } from "./request.ts";
import { MAX_ERROR_BYTES, type StreamedResponse, type WholeResponse } from "./transport.ts";

export interface ReadSettings {
  /** Receives the place of each value that reads as null because its type is wrong. */
  readonly onFault: (route: string, place: string) => void;
  readonly dialect: Dialect;
  /** Does work when it is the caller's turn: parsing a long response blocks the event loop. */
  readonly takeTurn: (caller: Caller, work: () => void) => void;
}

/** Parses a whole response with the reader of its endpoint, in turns of the caller; a long one in time slices. */
export function readResponse(
  order: Order,
  response: WholeResponse,
  { onFault, dialect, takeTurn }: ReadSettings,
  { resolve, reject }: { resolve(answer: unknown): void; reject(error: unknown): void },
): void {
  const { caller } = order.requester.scope;
  let steps: Steps | null = null;
  const advance = (): void => {
    try {
      const step = (steps ??= stepsOf(order, response, dialect)).next();
      if (!step.done) return takeTurn(caller, advance);
      for (const place of step.value.faults) onFault(order.request.endpoint.path, place);
      resolve(step.value.answer);
    } catch (error) {
      reject(error);
    }
  };
  takeTurn(caller, advance);
}

type Steps = Iterator<undefined, Reading<unknown>>;

function stepsOf(order: Order, response: WholeResponse, { secrets }: Dialect): Steps {
  const { status, body } = response;
  if (status >= 300) throw mapErrorResponse(order, response, body, secrets);
  const { method, answer: reader } = order.request.endpoint;
  // The body is ignored: the document describes none.
  if (reader.form !== "json") return { next: () => ({ done: true, value: NOTHING }) };
  if (body.length > SHORT_BYTES && method === "GET") order.asker.hold(excessOf(body));
  return reader.steps(parse(body));
}

const NOTHING = { answer: undefined, faults: [] };

/** Heap of an object or list besides its JSON, and of a name that no other object has, in bytes. Measured: 40 to 64, 60 to 110. */
const BYTES_PER = { object: 64, name: 80 };
/** Of the hashes of names. Random, so that nobody finds names with one hash. */
const FACTOR = 2 * Math.floor(Math.random() * 2 ** 19) + 1;
/** Marks the hashes of the names of one response: made once, as a new one for each takes longer than to count. */
const known = new Uint8Array(2 ** 20);
/** Of shorter responses nobody gets enough at a time to fill the heap. */
const SHORT_BYTES = 16_384;

/** What is parsed from JSON takes about twice its bytes, which count; the more objects and different names there are, the more it takes. */
function excessOf(json: Buffer): number {
  let bytes = 0;
  known.fill(0);
  // An iterator would take as long as parsing.
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === 0x5b || byte === 0x7b) bytes += BYTES_PER.object;
    if (byte !== 0x3a || json[at - 1] !== 0x22) continue;
    // A name is a text with a colon behind it. It counts once, by the hash of its last letters.
    let name = 0;
    for (let letter = at - 2; letter > at - 50 && json[letter] !== 0x22; letter--)
      name = Math.imul(name, FACTOR) + (json[letter] ?? 0);
    const slot = name & (known.length - 1);
    if (known[slot] === 0) bytes += BYTES_PER.name;
    known[slot] = 1;
  }
  return Math.max(0, Math.ceil((bytes - json.length) / 2));
}

function parse(body: Buffer): unknown {
  try {
    return parseJson(body);
  } catch {
    // The parser's own message quotes the body.
    throw new Failure("UPSTREAM_BAD_RESPONSE", "The service's answer is no JSON.");
  }
}

/** Checks that the body of a response can be streamed. Otherwise destroys its stream and throws. */
export async function checkStream(
  order: Order,
  response: StreamedResponse,
  { secrets }: Dialect,
): Promise<StreamedResponse> {
  const { status, stream, bodyHeaders, isHandedOver } = response;
  const { range } = order.request;
  if (status >= 300 && !(status === 416 && range)) {
    const body = await readWhole(stream, MAX_ERROR_BYTES).catch(() => EMPTY);
    throw mapErrorResponse(order, response, body, secrets);
  }
  const isUnrequestedPart = status === 206 && !(range && bodyHeaders["content-range"]);
  if (!isHandedOver && !isUnrequestedPart) return response;
  stream.destroy();
  throw isHandedOver ? new Failure("UPSTREAM_BAD_RESPONSE", HANDED_OVER) : new NotUnderstood();
}

const HANDED_OVER =
  "The service's application left the file to the web server in front of it. UPSTREAM_URL must name that web server, not the application.";
