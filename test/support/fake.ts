import type { IncomingMessage, ServerResponse } from "node:http";
import { openHttp } from "./listen.ts";

/** A request as a fake service received it. */
export interface Seen {
  readonly method: string;
  /** Path and query as sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** The response of a fake service: a body as JSON or as text. The default status is 200. */
export type FakeResponse =
  | { readonly json: unknown; readonly status?: number; readonly headers?: Record<string, string> }
  | { readonly text: string | Buffer; readonly status?: number; readonly headers?: Record<string, string> };

/** A response, or a function that writes the response itself. */
export type Reply = FakeResponse | ((response: ServerResponse) => unknown);

/** Shortens a path to `ada/mnist/jobs?limit=3`: removes the common prefix of all requests, and the default order of lists of runs. */
export const pathIn = (path: string): string =>
  path
    .replace("/api/v1/", "")
    .replace(/([?&])sort=-updated_at%2C-created_at(?:&|$)/, "$1")
    .replace(/[?&]$/, "");

/** Formats a request: `GET ada/mnist/jobs/3/`. */
export const onWire = ({ method, path }: Pick<Seen, "method" | "path">): string =>
  `${method} ${pathIn(path)}`;

/** Reads a request to its end. */
async function seenIn(request: IncomingMessage): Promise<Seen> {
  const { method = "", url: path = "", headers } = request;
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return { method, path, headers, body: Buffer.concat(chunks).toString() };
}

export const NOT_FOUND: FakeResponse = { json: { detail: "Not found." }, status: 404 };

export const bodyOf = (reported: FakeResponse): Buffer =>
  Buffer.from("json" in reported ? JSON.stringify(reported.json) : reported.text);

export const headersOf = (reported: FakeResponse) => ({
  "content-type": "json" in reported ? "application/json" : "text/plain",
  ...reported.headers,
});

export function writeResponse(response: ServerResponse, reported: FakeResponse): void {
  response.writeHead(reported.status ?? 200, headersOf(reported)).end(bodyOf(reported));
}

/** Responds to the requests of a fake service. Undefined stands for a JSON 404. */
export type Answering = (seen: Seen) => Reply | undefined | Promise<Reply | undefined>;

/** Starts a service with the given responses, over real HTTP. */
export async function startFake(answer: Answering) {
  const seen: Seen[] = [];
  const server = await openHttp(async (request, response) => {
    const asked = await seenIn(request);
    seen.push(asked);
    const reply = (await answer(asked)) ?? NOT_FOUND;
    if (typeof reply === "function") reply(response);
    else writeResponse(response, reply);
  });
  return {
    ...server,
    seen: () => seen,
    /** The requests in the order of arrival, as `GET ada/mnist/jobs/3/`. */
    inOrder: () => seen.map(onWire),
    /** The requests in alphabetical order, because parallel requests arrive in any order. */
    calls: () => seen.map(onWire).toSorted(),
  };
}

/** Passes a read on to another service, and returns its response. */
export async function passedOn(service: string, { path, headers }: Seen): Promise<FakeResponse> {
  const answer = await fetch(service + path, { headers: { authorization: `${headers["authorization"]}` } });
  const text = Buffer.from(await answer.arrayBuffer());
  const type = answer.headers.get("content-type") ?? "";
  return { text, status: answer.status, headers: { "content-type": type } };
}

/** Starts a fake service with fixed responses to GETs, by the path below `/api/v1/`. */
export const startRecords = (records: Record<string, unknown>) =>
  startFake(({ path }) => {
    const record = records[pathIn(path)];
    return record === undefined ? undefined : { json: record };
  });

/** The page of a list that a request selects with `limit` and `offset`. */
export function pageOf(
  rows: readonly unknown[],
  { path }: Pick<Seen, "path">,
  most = Number.POSITIVE_INFINITY,
): FakeResponse {
  const { searchParams } = new URL(path, "http://service");
  const offset = Number(searchParams.get("offset") ?? 0);
  const results = rows.slice(offset, offset + Math.min(most, Number(searchParams.get("limit") ?? 20)));
  return { json: { count: rows.length, next: null, results } };
}
