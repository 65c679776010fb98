import { once } from "node:events";
import { type IncomingMessage, request, type RequestOptions } from "node:http";
import { buffer } from "node:stream/consumers";

export interface Sending {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | FormData | URLSearchParams | ReadableStream;
}

/** Sends one raw request and reads its response. */
export async function sendTo(url: string, { method = "POST", headers = {}, body }: Sending = {}) {
  const streaming = body instanceof ReadableStream ? { duplex: "half" as const } : {};
  const response = await fetch(url, { method, headers, ...(body ? { body } : {}), ...streaming });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    codes: () =>
      (JSON.parse(text) as { errors: { extensions: { code: string } }[] }).errors.map(
        ({ extensions }) => extensions.code,
      ),
  };
}

/** Posts JSON, signed in unless the headers say otherwise. Returns the response when it begins. */
export const post = (
  url: string,
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
  signal: AbortSignal | null = null,
) =>
  fetch(url, {
    method: "POST",
    headers: { ...JSON_BODY, authorization: "token t0ken", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
    signal,
  });

/**
 * Sends one request with Node's own client. In contrast to `fetch`, it restricts no headers or bodies, follows no redirects and
 * decompresses nothing.
 */
export async function sendPlainly(url: string, options: RequestOptions, body?: string | Buffer) {
  const sent = request(url, { agent: false, ...options }).end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
}

export const JSON_BODY = { "content-type": "application/json" };

export const operationText = (query: string, variables?: object) => JSON.stringify({ query, variables });

export const operationsIn = (logged: string) =>
  [...logged.matchAll(/^.*"msg":"operation".*$/gm)].map(
    ([line]) => JSON.parse(line) as Record<string, unknown>,
  );

/** The response headers that pages of allowed origins can read, in alphabetical order. */
export const READABLE_HEADERS = [
  "accept-ranges",
  "content-disposition",
  "content-length",
  "content-range",
  "etag",
  "retry-after",
  "x-request-id",
  "x-total-count",
];
