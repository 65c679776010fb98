import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { GraphQLError } from "graphql";
import { withExtensions } from "../engine/errors.ts";
import { decodeId } from "../graphql/core/ids.ts";
import type { DownloadReport } from "../observability/reports.ts";
import type { Download } from "../graphql/types/logs.ts";
import type { TypeNames } from "../graphql/core/kinds.ts";
import type { Client } from "../rest/client/client.ts";
import { type ErrorCode, InputError, isErrorCode, statusOf, UpstreamError } from "../errors.ts";
import { plainPath } from "../rest/api/output-files.ts";
import { mapFailure } from "../rest/client/failure.ts";
import { RequestScope } from "../request-scope.ts";
import { openRequestSpan, traceIdOf } from "../observability/tracing.ts";
import type { Identify } from "./identity.ts";
import { onceOver } from "./connection.ts";
import { PRIVATE } from "./graphql/encoding.ts";
import type { Delivery } from "./delivery.ts";
import type { Doors } from "./doors.ts";
import type { Replaceable, Service } from "./operation.ts";

const ROUTE = /^\/downloads\/([^/?]+)\/(logs|outputs|files)(?:\?|$)/;

const METHODS = ["GET", "HEAD"];

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
 * Serves the routes behind `logsUrl`, `outputsUrl` and `OutputFile.url`: `GET /downloads/{global id}/logs`, `…/outputs` and
 * `…/files?path=`. Streams the upstream response, requested with the caller's token, at the caller's pace. HEAD gives the
 * headers of the same response. Returns false for other paths.
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
  const open = (id: string, what: Download, url: string, scope: RequestScope) => {
    const { kind, address } = decodeId("id", id, names);
    const documented = kind[what];
    if (!documented)
      throw new InputError(
        `id: expected something with ${what}, got the id of a ${names.publicName(kind.name)}`,
      );
    const file = what === "files" ? pathOf(url) : null;
    if (scope.token === null) {
      throw new UpstreamError("UNAUTHENTICATED", "Expected the header `Authorization: token <token>`.");
    }
    const rejection = doors.admit("download", scope);
    if (rejection) throw rejection;
    const { server, dialect } = service.current.shared;
    const endpoint = server.offered(documented);
    const path = endpoint.toPath(address);
    if (file === null) return { request: { endpoint, path }, dialect, name: kind.formatName(address) };
    const search = `?path=${encodeURIComponent(file)}`;
    return { request: { endpoint, path: path + search }, dialect, name: file.replace(/^.*\//s, "") };
  };

  const serve = async (request: IncomingMessage, response: ServerResponse, id: string, what: Download) => {
    // Downloads have no deadline: only a disconnect of the caller ends the scope.
    const scope = new RequestScope(identify(request), Number.POSITIVE_INFINITY);
    const { requestId, caller } = scope;
    const began = performance.now();
    let bytes = 0;
    /** Whether the requested range is outside of the file. */
    let isOutside = false;
    const isHead = request.method === "HEAD";
    const span = openRequestSpan(`${request.method} /downloads/{id}/${what}`, request.headers);
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
      const { name, request: target, dialect } = open(id, what, request.url ?? "", scope);
      const { stream, status, bodyHeaders } = await span.run(() =>
        // HEAD is asked as GET and cut off: errors have their reasons in bodies, and not every server knows HEAD.
        client.stream({ ...target, range: isHead ? null : rangeOf(request) }, scope, dialect),
      );
      if (isHead) stream.destroy();
      if (status === 416) {
        stream.destroy();
        isOutside = true;
        const { "content-range": length } = bodyHeaders;
        if (length) response.setHeader("content-range", length);
        throw new InputError("Range: expected bytes that the file has, got others");
      }
      /** The upstream error; stays null when the caller disconnects. */
      let failure: unknown = null;
      const headers = { ...HEADERS[what](name), ...bodyHeaders };
      if (isHead) response.writeHead(status, headers).end();
      else {
        const body = counted(stream, (length) => (bytes += length));
        await delivery.stream(response, { status, headers, body }, caller).catch((error: unknown) => {
          if (!scope.ended()) failure = mapFailure(target.endpoint, error);
          // A truncated file must not look complete.
          response.destroy();
        });
      }
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
    // Safe: `ROUTE` matches no other words.
    if (METHODS.includes(request.method ?? "")) void serve(request, response, id, what as Download);
    else response.writeHead(405, { allow: METHODS.join(", ") }).end();
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

/** The path that the query of a URL names. Throws `InputError` unless it names one plain path. */
function pathOf(url: string): string {
  const [given, ...others] = url
    .replace(/^[^?]*\??/, "")
    .split("&")
    .flatMap((part) => (part.startsWith("path=") ? [part.slice("path=".length)] : []));
  if (given === undefined || others.length > 0) {
    throw new InputError(
      `path: expected one query parameter, got ${given === undefined ? "none" : "several"}`,
    );
  }
  return plainPath("path", decoded(given));
}

/** Decodes a value of a query as browsers and `URLSearchParams` write it. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value.replaceAll("+", " "));
  } catch {
    throw new InputError(`path: expected percent-encoded UTF-8, got ${JSON.stringify(value.slice(0, 60))}`);
  }
}

/** Names a file: in ASCII, and as it is where that is not the same (RFC 6266). */
function named(disposition: "inline" | "attachment", name: string) {
  const plain = name.replaceAll(/[^\w.-]/g, "_");
  const exact = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
  const extended = plain === name ? "" : `; filename*=UTF-8''${exact}`;
  return { "content-disposition": `${disposition}; filename="${plain}"${extended}` };
}

const HEADERS: Record<Download, (name: string) => Record<string, string>> = {
  // Known servers send logs as text/html.
  logs: (name) => ({ "content-type": "text/plain; charset=utf-8", ...named("inline", `${name}.log`) }),
  outputs: (name) => ({ "content-type": "application/gzip", ...named("attachment", `${name}.tar.gz`) }),
  // What a run wrote is nothing that this origin should show.
  files: (name) => ({ "content-type": "application/octet-stream", ...named("attachment", name) }),
};

/** A single range. Others are ignored, as RFC 9110 allows: the response is the whole file. */
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
