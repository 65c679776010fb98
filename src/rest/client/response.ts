import { UpstreamError, type UpstreamFacts } from "../../errors.ts";
import { parseJson } from "../api/reader.ts";
import { NotUnderstood, readWhole } from "./body.ts";
import { mapErrorResponse } from "./error-mapping.ts";
import type { EndpointName, UpstreamRequest } from "./request.ts";
import {
  MAX_ERROR_BYTES,
  type ResponseHead,
  type StreamedResponse,
  type WholeResponse,
} from "./transport.ts";

export interface JsonSettings {
  /** Told of values that read as null because their type was wrong. */
  readonly onFault: (route: string, place: string) => void;
  /** Told how many bytes the parsed response will take, before it is made. May throw. */
  readonly hold: (bytes: number) => void;
  /** Resolves when it is the turn to go on with a long response. */
  readonly takeTurn: () => Promise<void>;
  readonly secrets: Secrets;
}

/** What no message may repeat, beside what the request itself holds. */
type Secrets = readonly (string | null)[];

/** Reads a whole response through the reader of its endpoint. Throws `UpstreamError`. */
export async function readResponse<Answer>(
  request: UpstreamRequest<Answer>,
  response: WholeResponse,
  { onFault, hold, takeTurn, secrets }: JsonSettings,
): Promise<Answer> {
  const { endpoint } = request;
  if (response.status >= 300) throw errorOf(request, response, response.body, secrets);
  const reader = endpoint.answer;
  // Whatever is in the body: the document says only that none is described.
  if (reader.form !== "json") return reader.read().answer;
  const facts: UpstreamFacts = {
    upstream: { method: endpoint.method, route: endpoint.path, status: response.status },
    // The command was taken; only what came of it cannot be told.
    ...(endpoint.method === "GET" ? {} : { outcome: "unknown" }),
  };
  const json = parse(response.body, hold, facts);
  try {
    const { answer, faults } = await (reader.readInTurns?.(json, takeTurn) ?? reader.read(json));
    for (const place of faults) onFault(endpoint.path, place);
    return answer;
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    throw new UpstreamError(error.code, error.message, facts);
  }
}

function parse(body: Buffer, hold: JsonSettings["hold"], facts: UpstreamFacts): unknown {
  try {
    return parseJson(body.toString("utf8"), hold);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The parser's own message quotes the body.
    throw new UpstreamError("UPSTREAM_BAD_RESPONSE", "The service's answer is no JSON.", facts);
  }
}

/** Checks that the body of a response can be passed on as it comes. Throws what is wrong with it and destroys its stream. */
export async function checkStream(
  request: UpstreamRequest<unknown>,
  response: StreamedResponse,
  secrets: Secrets,
): Promise<StreamedResponse> {
  const { status, stream, bodyHeaders, isHandedOver } = response;
  const { endpoint, range } = request;
  const isOutsideRange = status === 416 && Boolean(range);
  if (status >= 300 && !isOutsideRange) {
    const body = await readWhole(stream, MAX_ERROR_BYTES).catch(() => Buffer.alloc(0));
    throw errorOf(request, response, body, secrets);
  }
  const isPartUnasked = status === 206 && !(range && bodyHeaders["content-range"]);
  const fault = isHandedOver ? handedOver(endpoint, status) : isPartUnasked ? new NotUnderstood() : null;
  if (!fault) return response;
  stream.destroy();
  throw fault;
}

const handedOver = ({ method, path }: EndpointName, status: number) =>
  new UpstreamError(
    "UPSTREAM_BAD_RESPONSE",
    "The service's application left the file to the web server in front of it. UPSTREAM_URL must name that web server, not the application.",
    { upstream: { method, route: path, status } },
  );

const errorOf = (
  { endpoint, token, secret }: UpstreamRequest<unknown>,
  head: ResponseHead,
  body: Buffer,
  secrets: Secrets,
): UpstreamError =>
  mapErrorResponse(endpoint, {
    ...head,
    text: body.toString("utf8"),
    secrets: [...secrets, token, secret],
  });
