import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import type { GraphQLError } from "graphql";
import { identifyNode } from "./caller.ts";
import { withExtensions } from "./graphql/errors.ts";
import { decodeId } from "./graphql/ids.ts";
import type { Download } from "./graphql/logs.ts";
import type { TypeNames } from "./graphql/type-names.ts";
import type { Answering, Caller, Client } from "./rest/client.ts";
import { InputError, UpstreamError } from "./rest/errors.ts";
import { offered } from "./rest/exchanges.ts";
import type { Server } from "./rest/profile.ts";

const ROUTE = /^\/downloads\/([^/?]+)\/(logs|outputs)(?:\?|$)/;

interface Settings {
  readonly client: Client;
  readonly server: Server;
  readonly names: TypeNames;
  readonly publicError: (thrown: unknown) => GraphQLError;
}

/**
 * The routes behind `logsUrl` and `outputsUrl`: `GET /downloads/{global id}/logs` and `…/outputs`. They stream what the
 * service sends with the caller's token, as fast as the caller takes it, and hold nothing. Gives false for other paths.
 */
export function createDownloads({ client, server, names, publicError }: Settings) {
  const open = async (id: string, what: Download, caller: Caller) => {
    const { kind, at } = decodeId("id", id, names);
    const documented = kind[what];
    if (!documented)
      throw new InputError(`id: expected something with ${what}, got the id of a ${names.served(kind.name)}`);
    if (caller.token === null) {
      throw new UpstreamError("UNAUTHENTICATED", "Expected the header `Authorization: token <token>`.");
    }
    const row = offered(server, documented);
    const answer = await client.open({ row, path: row.fill(at) }, caller);
    return { answer, headers: HEADERS[what](answer, kind.nameOf(at)) };
  };

  const serve = async (request: IncomingMessage, response: ServerResponse, id: string, what: Download) => {
    const identity = identifyNode(request.headers);
    const { requestId } = identity;
    response.setHeaders(new Map(Object.entries({ ...NEVER_A_PAGE, "x-request-id": requestId })));
    // A download takes as long as it takes: only its caller's leaving ends it.
    const leaving = new AbortController();
    response.once("close", () => leaving.abort());
    try {
      const caller = { ...identity, deadline: Number.POSITIVE_INFINITY, signal: leaving.signal };
      const { answer, headers } = await open(id, what, caller);
      response.writeHead(200, headers);
      // Breaks off for the caller where it breaks off at the service: a cut file must not look whole.
      pipeline(answer.stream, response, () => {});
    } catch (fault) {
      const error = withExtensions(publicError(fault), { requestId });
      response.writeHead(STATUSES[String(error.extensions["code"])] ?? 502, JSON_TYPE);
      response.end(JSON.stringify({ errors: [error] }));
    }
  };

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const [, id, what] = ROUTE.exec(request.url ?? "") ?? [];
    if (!id || !what) return false;
    // The route has no other words than the two.
    if (request.method === "GET") void serve(request, response, id, what as Download);
    else response.writeHead(405, { allow: "GET" }).end();
    return true;
  };
}

/** What a run wrote is never shown as a page of this origin. */
const NEVER_A_PAGE = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox",
  "cache-control": "private, no-store",
};

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };

const HEADERS: Record<Download, (answer: Answering, name: string) => Record<string, string>> = {
  // Known servers send logs as text/html.
  logs: () => ({ "content-type": "text/plain; charset=utf-8" }),
  outputs: (_, name) => ({
    "content-type": "application/gzip",
    "content-disposition": `attachment; filename="${name.replaceAll(/[^\w.-]/g, "_")}.tar.gz"`,
  }),
};

const STATUSES: Readonly<Record<string, number>> = {
  BAD_USER_INPUT: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  RATE_LIMITED: 429,
  CAPABILITY_UNAVAILABLE: 404,
  INTERNAL_SERVER_ERROR: 500,
  UPSTREAM_UNAVAILABLE: 503,
  UPSTREAM_TIMEOUT: 504,
};
