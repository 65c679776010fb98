import type { Caller } from "../../callers/callers.ts";
import { GatewayError } from "../../errors.ts";
import { HEAP_BYTES_PER_CHARGED_BYTE } from "../../callers/memory-budget.ts";
import { type JsonScan, scanJson } from "../api/json-scan.ts";
import { parseJson } from "../api/parse-json.ts";
import type { Reading } from "../api/record.ts";
import { EMPTY } from "../../callers/bounded-buffer.ts";
import { UnsupportedResponseError, readAll } from "./body.ts";
import { mapErrorResponse } from "./error-mapping.ts";
import type { UpstreamCall } from "./upstream-call.ts";
import type { RequestFormat } from "./request.ts";
import {
  hasNoType,
  isHtml,
  MAX_ERROR_BYTES,
  type StreamedResponse,
  TransportError,
  type WholeResponse,
} from "./transport.ts";

export interface ReadSettings {
  /** Receives the path of each value that is replaced with null because its type is wrong. */
  readonly onMismatch: (route: string, path: string) => void;
  readonly requestFormat: RequestFormat;
  /** Parses responses in time slices, because a long one would block the event loop. */
  readonly runCooperatively: (
    caller: Caller,
    open: () => ParseTask,
    resolve: (reading: Reading<unknown>) => void,
    reject: (error: unknown) => void,
  ) => void;
}

/** Parses a whole response with the reader of its endpoint, in time slices that are shared fairly with other callers. */
export function readResponse(
  call: UpstreamCall,
  response: WholeResponse,
  settings: ReadSettings,
  { resolve, reject }: { resolve(answer: unknown): void; reject(error: unknown): void },
): void {
  const onRead = ({ answer, mismatches }: Reading<unknown>): void => {
    for (const path of mismatches) settings.onMismatch(call.request.endpoint.path, path);
    resolve(answer);
  };
  const open = () => parseTaskOf(call, response, settings);
  settings.runCooperatively(call.requester.scope.caller, open, onRead, reject);
}

type ParseTask = Iterator<undefined, Reading<unknown>, undefined>;

function parseTaskOf(
  call: UpstreamCall,
  response: WholeResponse,
  { requestFormat, onMismatch }: ReadSettings,
): ParseTask {
  const { status, body } = response;
  if (status >= 300) throw mapErrorResponse(call, response, body, requestFormat.secrets);
  const { path, answer: reader } = call.request.endpoint;
  // An HTML response to a command is a sign-in page in front of the upstream service, which has received nothing.
  if (call.request.endpoint.method !== "GET" && isHtmlPage(response))
    throw new GatewayError("UPSTREAM_BAD_RESPONSE", "The service responded with an HTML page.");
  // The body is ignored, because the service's document describes none.
  if (reader.form !== "json") return { next: () => ({ done: true, value: NO_BODY }) };
  const scan = scanJson(body);
  chargeParsedValue(call, scan, body);
  if (scan.isTooDeep) onMismatch(path, TOO_DEEP);
  return reader.parseTask(parse(body, scan));
}

function isHtmlPage(response: WholeResponse): boolean {
  const { body } = response;
  if (hasNoType(response)) return body.toString("utf8", 0, MAX_ERROR_BYTES).trimStart().startsWith("<");
  return isHtml(response) && body.length > 0;
}

const NO_BODY = { answer: undefined, mismatches: [] };

/** Reported in place of a path if values are replaced with null because they are nested too deeply. */
const TOO_DEEP = "(nested too deeply)";

/** Charges the memory of the parsed value, as far as it exceeds the memory already charged for the bytes of the response. */
function chargeParsedValue({ consumer }: UpstreamCall, { heapBytes }: JsonScan, body: Buffer): void {
  const excess = Math.ceil(heapBytes / HEAP_BYTES_PER_CHARGED_BYTE) - body.length;
  try {
    if (excess > 0) consumer.chargeMemory(excess);
  } catch (error) {
    // `wasSent` is true, because the upstream service may have executed the command.
    throw new TransportError(error, true);
  }
}

function parse(body: Buffer, scan: JsonScan): unknown {
  try {
    return parseJson(body, scan);
  } catch {
    // The parser's own message is not used, because it quotes the body.
    throw new GatewayError("UPSTREAM_BAD_RESPONSE", "The service's response is not JSON.");
  }
}

/** Checks that the body of a response can be streamed. Otherwise destroys its stream and throws. */
export async function checkStream(
  call: UpstreamCall,
  response: StreamedResponse,
  { secrets }: RequestFormat,
): Promise<StreamedResponse> {
  const { status, stream, bodyHeaders, isHandedOver } = response;
  const { range } = call.request;
  if (status >= 300 && !(status === 416 && range)) {
    const body = await readAll(stream, MAX_ERROR_BYTES, call.consumer).catch(() => EMPTY);
    throw mapErrorResponse(call, response, body, secrets);
  }
  const isUnrequestedPart = status === 206 && !(range && bodyHeaders["content-range"]);
  if (!isHandedOver && !isUnrequestedPart) return response;
  stream.destroy();
  throw isHandedOver
    ? new GatewayError("UPSTREAM_BAD_RESPONSE", OFFLOADED_MESSAGE)
    : new UnsupportedResponseError();
}

const OFFLOADED_MESSAGE =
  "The service's application left the file to the web server in front of it. UPSTREAM_URL must name that web server, not the application.";
