import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { GraphQLError } from "graphql";
import { withExtensions } from "../engine/errors.ts";
import { decodeId } from "../graphql/core/ids.ts";
import type { DownloadReport } from "../observability/reports.ts";
import type { Download } from "../graphql/types/logs.ts";
import type { TypeNames } from "../graphql/core/kinds.ts";
import type { Client } from "../rest/client/client.ts";
import { type ErrorCode, InputError, isErrorCode, statusOf, UpstreamError } from "../errors.ts";
import { mapFailure } from "../rest/client/failure.ts";
import { RequestScope } from "../request-scope.ts";
import { openRequestSpan, traceIdOf } from "../observability/tracing.ts";
import type { Identify } from "./identity.ts";
import { onceOver } from "./connection.ts";
import { PRIVATE } from "./graphql/encoding.ts";
import type { Delivery } from "./delivery.ts";
import type { Doors } from "./doors.ts";
import type { Replaceable, Service } from "./operation.ts";

const ROUTE = /^\/downloads\/([^/?]+)\/(logs|outputs)(?:\?|$)/;

interface DownloadSettings {
  readonly client: Client;
  readonly service: Replaceable<Service>;
  readonly names: TypeNames;
  readonly publicError: (error: unknown) => GraphQLError;
  readonly identify: Identify;
  readonly doors: Doors;
  readonly delivery: Delivery;
  readonly onDownload: (report: DownloadReport, headers: IncomingHttpHeaders) => void;
}

/**
 * Serves the routes behind `logsUrl` and `outputsUrl`: `GET /downloads/{global id}/logs` and `…/outputs`. Streams the
 * upstream response, requested with the caller's token, at the caller's pace. Returns false for other paths.
 */
export function createDownloads({
  client,
  service,
  names,
  publicError,
  identify,
  doors,
  delivery,
  onDownload,
}: DownloadSettings) {
  const open = (id: string, what: Download, scope: RequestScope) => {
    const { kind, address } = decodeId("id", id, names);
    const documented = kind[what];
    if (!documented)
      throw new InputError(
        `id: expected something with ${what}, got the id of a ${names.publicName(kind.name)}`,
      );
    if (scope.token === null) {
      throw new UpstreamError("UNAUTHENTICATED", "Expected the header `Authorization: token <token>`.");
    }
    const rejection = doors.admit("download", scope);
    if (rejection) throw rejection;
    const { server, dialect } = service.current.shared;
    const endpoint = server.offered(documented);
    return { request: { endpoint, path: endpoint.toPath(address) }, dialect, name: kind.formatName(address) };
  };

  const serve = async (request: IncomingMessage, response: ServerResponse, id: string, what: Download) => {
    // Downloads have no deadline: only a disconnect of the caller ends the scope.
    const scope = new RequestScope(identify(request), Number.POSITIVE_INFINITY);
    const { requestId, caller } = scope;
    const began = performance.now();
    let bytes = 0;
    /** Whether the requested range is outside of the file. */
    let isOutside = false;
    const span = openRequestSpan(`GET /downloads/{id}/${what}`, request.headers);
    const traceId = span.traceId ?? traceIdOf(scope.traceparent);
    const report = (code: string) => {
      span.end({ error: code === "OK" || code === "REQUEST_CANCELLED" ? null : code });
      const ms = performance.now() - began;
      onDownload({ requestId, traceId, caller, what, code, bytes, ms }, request.headers);
    };
    // A download has eleven `close` listeners when node:http is instrumented; Node warns above ten.
    response.setMaxListeners(20);
    onceOver(response, () => scope.end("left"));
    response.setHeaders(new Map(Object.entries({ ...NO_RENDERING, "x-request-id": requestId })));
    try {
      const { name, request: target, dialect } = open(id, what, scope);
      const { stream, status, bodyHeaders } = await span.run(() =>
        client.stream({ ...target, range: rangeOf(request) }, scope, dialect),
      );
      if (status === 416) {
        stream.destroy();
        isOutside = true;
        const { "content-range": length } = bodyHeaders;
        if (length) response.setHeader("content-range", length);
        throw new InputError("Range: expected bytes that the file has, got others");
      }
      /** The upstream error; stays null when the caller disconnects. */
      let failure: unknown = null;
      const body = counted(stream, (length) => (bytes += length));
      const headers = { ...HEADERS[what](name), ...bodyHeaders };
      await delivery.stream(response, { status, headers, body }, caller).catch((error: unknown) => {
        if (!scope.ended()) failure = mapFailure(target.endpoint, error);
        // A truncated file must not look complete.
        response.destroy();
      });
      onceOver(response, () => {
        scope.end("done");
        const isComplete = response.writableFinished;
        report(isComplete ? "OK" : failure ? codeOf(publicError(failure)) : "REQUEST_CANCELLED");
      });
    } catch (cause) {
      const error = withExtensions(publicError(cause), { requestId });
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
    // `ROUTE` matches no other words than the two.
    if (request.method === "GET") void serve(request, response, id, what as Download);
    else response.writeHead(405, { allow: "GET" }).end();
    return true;
  };
}

async function* counted(
  stream: AsyncIterable<Uint8Array>,
  onBytes: (length: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) {
    onBytes(chunk.length);
    yield chunk;
  }
}

const codeOf = ({ extensions: { code } }: GraphQLError): ErrorCode =>
  isErrorCode(code) ? code : "INTERNAL_SERVER_ERROR";

/** Keeps browsers from rendering the output of a run as a page of this origin. */
const NO_RENDERING = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox",
  "cache-control": PRIVATE,
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

/** A single range. Several would make a multipart response, which no client of logs and archives uses. */
const RANGE = /^bytes=(?:\d{1,15}-\d{0,15}|-\d{1,15})$/;
/** An entity tag or an HTTP date. */
const VALIDATOR =
  /^(?:(?:W\/)?"[\x21\x23-\x7e]{0,200}"|[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT)$/;

/** The `Range` and `If-Range` headers to forward; null when the whole file is requested. */
function rangeOf({ headers }: IncomingMessage): Readonly<Record<string, string>> | null {
  const { range, "if-range": validator } = headers;
  if (range === undefined || !RANGE.test(range)) return null;
  if (validator === undefined) return { range };
  // A range without its condition could belong to another version of the file.
  return typeof validator === "string" && VALIDATOR.test(validator) ? { range, "if-range": validator } : null;
}
