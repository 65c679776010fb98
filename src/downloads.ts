import { Readable } from "node:stream";
import { type Plugin } from "graphql-yoga";
import { type GraphQLError } from "graphql";
import { callerOf } from "./caller.ts";
import { decodeId } from "./graphql/ids.ts";
import { type Download } from "./graphql/logs.ts";
import { type Answering, type Client } from "./rest/client.ts";
import { InputError, UpstreamError } from "./rest/errors.ts";

const ROUTE = /^\/downloads\/([^/]+)\/(logs|outputs)$/;

interface Settings {
  readonly client: Client;
  readonly publicError: (thrown: unknown) => GraphQLError;
}

/**
 * The routes behind `logsUrl` and `outputsUrl`: `GET /downloads/{global id}/logs` and `…/outputs`. They stream what the
 * service sends with the caller's token, as fast as the caller takes it, and hold nothing.
 */
export function useDownloads({ client, publicError }: Settings): Plugin {
  const download = async (request: Request, id: string, what: Download): Promise<Response> => {
    const { kind, at } = decodeId("id", id);
    const row = kind[what];
    if (!row) throw new InputError(`id: expected something with ${what}, got the id of a ${kind.name}`);
    // A download takes as long as it takes: only its caller's leaving ends it.
    const caller = { ...callerOf(request), signal: request.signal };
    if (caller.token === null) {
      throw new UpstreamError("UNAUTHENTICATED", "Expected the header `Authorization: token <token>`.");
    }
    const answer = await client.open({ row, path: row.fill(at) }, caller);
    // The two kinds of web stream are one at run time; Node and the DOM describe it apart.
    const body = Readable.toWeb(answer.stream) as ReadableStream<Uint8Array>;
    return new Response(body, { headers: { ...NEVER_A_PAGE, ...HEADERS[what](answer, kind.nameOf(at)) } });
  };

  return {
    async onRequest({ request, url, endResponse }) {
      const [, id, what] = ROUTE.exec(url.pathname) ?? [];
      if (!id || !what || request.method !== "GET") return;
      try {
        endResponse(await download(request, id, what as Download));
      } catch (fault) {
        endResponse(refuse(publicError(fault)));
      }
    },
  };
}

/** What a run wrote is never shown as a page of this origin. */
const NEVER_A_PAGE = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox",
  "cache-control": "private, no-store",
};

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
  UPSTREAM_UNAVAILABLE: 503,
  UPSTREAM_TIMEOUT: 504,
};

const refuse = (error: GraphQLError): Response =>
  Response.json({ errors: [error] }, { status: STATUSES[String(error.extensions["code"])] ?? 502 });
