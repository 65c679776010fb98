import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import type { GraphQLError } from "graphql";
import { withExtensions } from "../engine/errors.ts";
import { decodeId } from "../graphql/core/ids.ts";
import type { DownloadReport } from "../observability/telemetry.ts";
import type { Download } from "../graphql/types/logs.ts";
import type { TypeNames } from "../graphql/core/type-names.ts";
import type { Client } from "../rest/client/client.ts";
import { type ErrorCode, InputError, isErrorCode, statusOf, UpstreamError } from "../errors.ts";
import { offered } from "../rest/session/session.ts";
import { mapFailure } from "../rest/client/failure.ts";
import type { Server } from "../rest/api/server.ts";
import { openScope, type RequestScope } from "../request-scope.ts";
import { openRequestSpan } from "../observability/tracing.ts";
import { identify } from "./caller.ts";
import { onceOver } from "./connection.ts";
import { rangeOf } from "./range.ts";
import type { NoPlace, Places } from "./places.ts";

const ROUTE = /^\/downloads\/([^/?]+)\/(logs|outputs)(?:\?|$)/;

interface Settings {
  readonly client: Client;
  readonly server: Server;
  readonly names: TypeNames;
  readonly publicError: (thrown: unknown) => GraphQLError;
  readonly places: Places;
  readonly onDownload: (report: DownloadReport) => void;
}

/**
 * The routes behind `logsUrl` and `outputsUrl`: `GET /downloads/{global id}/logs` and `…/outputs`. They stream what the
 * service sends with the caller's token, as fast as the caller takes it, and hold nothing. Gives false for other paths.
 */
export function createDownloads({ client, server, names, publicError, places, onDownload }: Settings) {
  const open = (id: string, what: Download, scope: RequestScope) => {
    const { kind, address } = decodeId("id", id, names);
    const documented = kind[what];
    if (!documented)
      throw new InputError(`id: expected something with ${what}, got the id of a ${names.served(kind.name)}`);
    if (scope.token === null) {
      throw new UpstreamError("UNAUTHENTICATED", "Expected the header `Authorization: token <token>`.");
    }
    const refusal = places.refusalFor(scope.party);
    if (refusal) throw NO_PLACE[refusal]();
    scope.onEnd(places.take(scope.party));
    const endpoint = offered(server, documented);
    return { endpoint, path: endpoint.toPath(address), name: kind.formatName(address) };
  };

  const serve = async (request: IncomingMessage, response: ServerResponse, id: string, what: Download) => {
    // A download takes as long as it takes: only its caller's leaving ends it.
    const scope = openScope(identify(request), Number.POSITIVE_INFINITY);
    const { requestId } = scope;
    const began = performance.now();
    let bytes = 0;
    /** Whether the file has no such range. */
    let isOutside = false;
    const span = openRequestSpan(`GET /downloads/{id}/${what}`, request.headers);
    const report = (code: string) => {
      span.end({ error: code === "OK" || code === "REQUEST_CANCELLED" ? null : code });
      onDownload({ requestId, what, code, bytes, ms: performance.now() - began });
    };
    onceOver(response, () => scope.end("left"));
    response.setHeaders(new Map(Object.entries({ ...NEVER_A_PAGE, "x-request-id": requestId })));
    try {
      const { name, ...asked } = open(id, what, scope);
      const { stream, status, bodyHeaders } = await span.run(() =>
        client.stream({ ...asked, range: rangeOf(request) }, scope),
      );
      if (status === 416) {
        stream.destroy();
        isOutside = true;
        const { "content-range": length } = bodyHeaders;
        if (length) response.setHeader("content-range", length);
        throw new InputError("Range: expected bytes that the file has, got others");
      }
      /** What went wrong at the service, not with the caller. */
      let failure: unknown = null;
      stream.on("data", (piece: Buffer) => (bytes += piece.length));
      stream.on("error", (fault) => {
        if (!scope.ended()) failure = mapFailure(asked.endpoint, fault);
      });
      response.writeHead(status, { ...HEADERS[what](name), ...bodyHeaders });
      // Breaks off for the caller where it breaks off at the service: a cut file must not look whole.
      pipeline(stream, response, (fault) => {
        scope.end("done");
        report(!fault ? "OK" : failure ? codeOf(publicError(failure)) : "REQUEST_CANCELLED");
      });
    } catch (fault) {
      const error = withExtensions(publicError(fault), { requestId });
      const { retryAfterSeconds } = error.extensions;
      report(codeOf(error));
      if (retryAfterSeconds !== undefined) response.setHeader("retry-after", String(retryAfterSeconds));
      response.writeHead(statusOf(codeOf(error), isOutside ? "range" : undefined), JSON_TYPE);
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

const codeOf = ({ extensions: { code } }: GraphQLError): ErrorCode =>
  isErrorCode(code) ? code : "INTERNAL_SERVER_ERROR";

const NO_PLACE: Readonly<Record<NoPlace, () => UpstreamError>> = {
  "all taken": () =>
    new UpstreamError("SERVICE_OVERLOADED", "The gateway has as many downloads under way as it may have."),
  "share taken": () =>
    new UpstreamError("RATE_LIMITED", "This caller has as many downloads under way as one may have.", {
      retryAfterSeconds: 1,
    }),
};

/** What a run wrote is never shown as a page of this origin. */
const NEVER_A_PAGE = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox",
  "cache-control": "private, no-store",
};

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };

const HEADERS: Record<Download, (name: string) => Record<string, string>> = {
  // Known servers send logs as text/html.
  logs: () => ({ "content-type": "text/plain; charset=utf-8" }),
  outputs: (name) => ({
    "content-type": "application/gzip",
    "content-disposition": `attachment; filename="${name.replaceAll(/[^\w.-]/g, "_")}.tar.gz"`,
  }),
};
