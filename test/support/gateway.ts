import { Agent } from "node:http";
import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import { type DocumentNode, type GraphQLFormattedError, print } from "graphql";
import pino from "pino";
import { onTestFinished } from "vitest";
import { createGateway, type GatewaySettings as Given } from "../../src/gateway.ts";
import { configOf } from "./config-of.ts";
import { type Answering, startFake, startRecords } from "./fake.ts";
import { listen } from "./listen.ts";
import { JSON_BODY, sendPlainly } from "./raw-requests.ts";
import { TEST_SETTINGS } from "./test-settings.ts";

/** The response of a GraphQL server, as a client reads it. */
export interface Answer<Data> {
  readonly data: Data;
  readonly errors?: readonly (GraphQLFormattedError & { readonly extensions: Record<string, unknown> })[];
}

export interface Gateway {
  readonly url: string;
  /** Sends one operation over HTTP, with the fixture's token or the given one. Null means no token. */
  readonly ask: <Data, Variables>(
    document: TypedDocumentNode<Data, Variables> | DocumentNode | string,
    variables?: Variables,
    options?: { token?: string | null; headers?: Record<string, string> },
  ) => Promise<Answer<Data>>;
  /** The log so far, one JSON object per line. */
  readonly logged: () => string;
  /** Ends the streams of the gateway, as SIGTERM does. */
  readonly drain: () => void;
}

export interface GatewayOptions extends Pick<Given, "lookAhead" | "planner" | "clock" | "exampleToken"> {
  /** The service behind the gateway, a real HTTP server. */
  readonly upstream: { readonly url: string };
  readonly token?: string | null;
  /** Settings and fixed limits by their names. */
  readonly env?: Record<string, string>;
  /** Whether the HTTP server passes requests that offer another protocol to the gateway. */
  readonly takesUpgrades?: boolean;
}

const KEPT = new Agent({ keepAlive: true });

/** The response of a GraphQL server, read with Node's own client, because `fetch` takes twice as long. */
export async function askAt(
  url: string,
  token: string | null,
  document: DocumentNode | string,
  { variables, headers }: { variables?: unknown; headers?: Record<string, string> | undefined } = {},
): Promise<Answer<never>> {
  const signedIn = token === null ? {} : { authorization: `token ${token}` };
  const sent = { method: "POST", agent: KEPT, headers: { ...JSON_BODY, ...signedIn, ...headers } };
  const query = typeof document === "string" ? document : print(document);
  const { body } = await sendPlainly(url, sent, JSON.stringify({ query, variables }));
  return JSON.parse(`${body}`) as Answer<never>;
}

/** Starts a gateway on a free port. It is closed when the test ends. */
export async function startGateway({
  upstream,
  token = "t0ken",
  env = {},
  takesUpgrades = true,
  ...options
}: GatewayOptions): Promise<Gateway> {
  const lines: string[] = [];
  const log = pino({ level: "debug", base: null }, { write: (line: string) => void lines.push(line) });
  const config = configOf({ ...TEST_SETTINGS, ...env });
  const gateway = createGateway({ config, upstreamUrl: new URL(upstream.url), log, ...options });
  const url = await listen(gateway.handle, takesUpgrades ? gateway.upgrade : undefined);
  onTestFinished(() => gateway.close());
  return {
    url,
    logged: () => lines.join(""),
    drain: gateway.drain,
    ask: (document, variables, { token: as = token, headers } = {}) =>
      askAt(`${url}/graphql`, as, document, { variables, headers }),
  };
}

/** Settings for a server of one of the known releases. */
export const RELEASE_02 = { UPSTREAM_PROFILE: "polyaxon-0.2" };
export const RELEASE_04 = { UPSTREAM_PROFILE: "polyaxon-0.4" };

/** Starts a gateway in front of a fake service with the given responses or records. */
export async function startBefore(
  answer: Answering | Readonly<Record<string, unknown>>,
  env: Record<string, string> = {},
  options: Omit<GatewayOptions, "upstream" | "env"> = {},
) {
  const service = await (typeof answer === "function" ? startFake(answer) : startRecords(answer));
  return { ...(await startGateway({ upstream: service, env, ...options })), service };
}
