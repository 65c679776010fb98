import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { setImmediate as nextTick } from "node:timers/promises";

/** How a caller reads the gateway's response. */
export const READERS = ["fast", "slow", "leaving"] as const;

export interface Received {
  readonly status: number;
  readonly body: Buffer;
  /** Whether the response reached the end that it announced. */
  readonly isWhole: boolean;
}

export interface Wish {
  readonly path: string;
  /** Sent as the body of a POST. */
  readonly graphql?: string;
  readonly token?: string;
  readonly headers?: Record<string, string>;
}

/** Sends a request on a new connection and returns the request. Does not read the response. */
export function begin(gatewayUrl: string, { path, graphql, token = "t0ken", headers = {} }: Wish) {
  const sent = request(`${gatewayUrl}${path}`, {
    method: graphql === undefined ? "GET" : "POST",
    agent: false,
    headers: {
      authorization: `token ${token}`,
      ...(graphql === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
  });
  sent.on("error", () => {});
  sent.end(graphql === undefined ? undefined : JSON.stringify({ query: graphql }));
  return sent;
}

/** Reads a response to its end, with a pause after each chunk. */
export async function readOn(
  response: IncomingMessage,
  pause: () => Promise<void> = async () => {},
): Promise<Received> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      await pause();
    }
  } catch {
    // The response was aborted, so `complete` is false.
  }
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks), isWhole: response.complete };
}

/** Reads the response as fast as it arrives. Returns null if the connection ends before a response begins. */
export async function readFast(gatewayUrl: string, wish: Wish): Promise<Received | null> {
  const sent = begin(gatewayUrl, wish);
  const response = await answerTo(sent);
  return response && readOn(response);
}

/**
 * Reads nothing until `isAtRest` resolves, and then one chunk per tick of the event loop. After the first chunk, waits for `isAtRest`
 * again.
 */
export async function readSlowly(
  gatewayUrl: string,
  wish: Wish,
  isAtRest: () => Promise<void>,
): Promise<Received | null> {
  const sent = begin(gatewayUrl, wish);
  const response = await answerTo(sent);
  if (!response) return null;
  await isAtRest();
  let chunks = 0;
  return readOn(response, () => (++chunks === 1 ? isAtRest() : nextTick()));
}

const answerTo = (sent: ReturnType<typeof request>): Promise<IncomingMessage | null> =>
  once(sent, "response").then(
    ([response]) => response as IncomingMessage,
    () => null,
  );
