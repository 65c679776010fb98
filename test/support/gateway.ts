import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { type DocumentNode, type GraphQLFormattedError, print } from "graphql";
import pino from "pino";
import { onTestFinished } from "vitest";
import { readConfig } from "../src/config.ts";
import { type Demo, type DemoOptions, startDemo } from "../src/demo/service.ts";
import { createGateway } from "../src/gateway.ts";
import { NO_DEADLINES } from "./patience.ts";

/** What a GraphQL server answers, as a client reads it. */
export interface Answer<Data> {
  readonly data: Data;
  readonly errors?: readonly (GraphQLFormattedError & { readonly extensions: Record<string, unknown> })[];
}

export interface Gateway {
  readonly url: string;
  /** Sends one operation over HTTP, signed in with the gateway's token or another one (null: none). */
  readonly ask: <Data, Variables>(
    document: TypedDocumentNode<Data, Variables> | DocumentNode | string,
    variables?: Variables,
    options?: { token?: string | null; headers?: Record<string, string> },
  ) => Promise<Answer<Data>>;
  /** Everything that was logged so far, a JSON object a line. */
  readonly logged: () => string;
}

interface GatewayOptions {
  /** The service behind the gateway, a real HTTP server. */
  readonly upstream: { readonly url: string };
  readonly token?: string | null;
  /** Settings by their variables. */
  readonly env?: Record<string, string>;
  readonly lookAhead?: boolean;
  /** The token that GraphiQL offers. */
  readonly exampleToken?: string;
}

/** A gateway on a port of its own, closed when the test ends. */
export async function startGateway({
  upstream,
  token = "t0ken",
  env = {},
  ...options
}: GatewayOptions): Promise<Gateway> {
  const lines: string[] = [];
  const log = pino({ level: "debug", base: null }, { write: (line: string) => void lines.push(line) });
  // Stories ask for more at once than a caller may, on machines of any speed; the stories of limits set their own.
  const config = readConfig({
    ...NO_DEADLINES,
    UPSTREAM_RETRIES: "0",
    MAX_ROOT_FIELDS: "100",
    MAX_ALIASES: "200",
    MAX_OPERATIONS_PER_TOKEN: "64",
    UPSTREAM_CONNECTIONS_PER_TOKEN: "32",
    ...env,
  });
  const gateway = createGateway({ config, upstreamUrl: new URL(upstream.url), log, ...options });
  const url = await listen(gateway.handle);
  onTestFinished(() => gateway.close());
  return {
    url,
    logged: () => lines.join(""),
    ask: async (document, variables, sending = {}) => {
      const sent = sending.token === undefined ? token : sending.token;
      const response = await fetch(`${url}/graphql`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(sent === null ? {} : { authorization: `token ${sent}` }),
          ...sending.headers,
        },
        body: JSON.stringify({ query: typeof document === "string" ? document : print(document), variables }),
      });
      return (await response.json()) as Answer<never>;
    },
  };
}

/** The gateway in front of a demo of its own, signed in as ada. `calls` are the demo's requests since the last look. */
export async function startDemoGateway(
  options: DemoOptions & Omit<GatewayOptions, "upstream" | "token"> = {},
) {
  const demo = await startDemo(options);
  onTestFinished(() => demo.close());
  const token = tokenOf(demo, "ada");
  const gateway = await startGateway({ ...options, upstream: demo, token, exampleToken: token });
  return { ...gateway, demo, calls: () => callsOf(demo) };
}

/** The token of one of the demo's users. */
export function tokenOf(demo: Demo, username: string): string {
  const user = demo.users.find((each) => each.username === username);
  if (!user) throw new TypeError(`the demo has no user ${username}`);
  return user.token;
}

/** The demo's requests since the last look, without the prefix they all have, in the order of the alphabet. */
export function callsOf(demo: Demo): string[] {
  const calls = demo.calls().map((call) => call.replace(" /api/v1/", " "));
  demo.forget();
  return calls.toSorted();
}

/** A request as a fake service saw it. */
export interface Seen {
  readonly method: string;
  /** Path and query as they were on the wire. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** What a fake service answers: a JSON body with status 200, or all of it. */
export type Told =
  | { readonly json: unknown; readonly status?: number; readonly headers?: Record<string, string> }
  | { readonly text: string | Buffer; readonly status?: number; readonly headers?: Record<string, string> };

/** A service that holds what it is asked until the test answers it. */
export async function startHolding() {
  const held: ServerResponse[] = [];
  const url = await listen((_, response) => void held.push(response));
  return { url, held };
}

/** A service that answers as told, over real HTTP. What it is not told of is a JSON 404. */
export async function startFake(answer: (seen: Seen) => Told | undefined | Promise<Told | undefined>) {
  const seen: Seen[] = [];
  const url = await listen(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = "", url: path = "", headers } = request;
    const asked = { method, path, headers, body: Buffer.concat(chunks).toString() };
    seen.push(asked);
    const told = (await answer(asked)) ?? { json: { detail: "Not found." }, status: 404 };
    const isJson = "json" in told;
    response.writeHead(told.status ?? 200, {
      "content-type": isJson ? "application/json" : "text/plain",
      ...told.headers,
    });
    response.end(isJson ? JSON.stringify(told.json) : told.text);
  });
  return {
    url,
    seen: () => seen,
    /** `GET ada/mnist/jobs/3/` for each request, in the order of the alphabet. */
    calls: () => seen.map(({ method, path }) => `${method} ${path.replace("/api/v1/", "")}`).toSorted(),
  };
}

/** A fake of fixed answers to GETs, by their path below `/api/v1/`. */
export const startRecords = (records: Record<string, unknown>) =>
  startFake(({ path }) => {
    const record = records[path.replace("/api/v1/", "")];
    return record === undefined ? undefined : { json: record };
  });

/** Listens on a free port until the test ends, and gives the address. */
export async function listen(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  // A connection that it closed while a request was on its way would be another story.
  server.keepAliveTimeout = 0;
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
