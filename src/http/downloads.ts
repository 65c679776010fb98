import type { IncomingMessage, ServerResponse } from "node:http";
import type { GraphQLError } from "graphql";
import { addPaths, type FailedPath, rejection } from "../engine/errors.ts";
import { InputError, GatewayError } from "../errors.ts";
import { a, decodeId } from "../graphql/core/ids.ts";
import type { Download } from "../graphql/types/logs.ts";
import type { DownloadDetails } from "../observability/telemetry.ts";
import { openRequestSpan } from "../observability/tracing.ts";
import { RequestScope } from "../callers/request-scope.ts";
import { plainPath } from "../rest/api/endpoint.ts";
import { mapTransportError } from "../rest/client/failure.ts";
import { abortConnection, onceClosed } from "./connections.ts";
import { CACHE_CONTROL_PRIVATE } from "./graphql/encoding.ts";
import type { GatewayDependencies } from "./dependencies.ts";
import { codeOf, reject } from "./error-response.ts";

/** A download that is ready to be sent. Its body is read no faster than the caller reads it. */
export interface OpenedDownload {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** Converts an error that ended the body early to a `GatewayError`. Returns a bug of the gateway unchanged. */
  readonly failureOf: (error: unknown) => unknown;
}

interface DownloadTask {
  readonly what: DownloadDetails["what"];
  /** The path without ids, for spans. */
  readonly route: string;
  /** Must call `admitDownload` before it sends upstream requests. */
  readonly open: (scope: RequestScope) => Promise<OpenedDownload>;
}

/** The header that names a file: in ASCII, and also in UTF-8 if the name has other characters (RFC 6266). */
export function contentDisposition(disposition: "inline" | "attachment", name: string) {
  const plain = name.replaceAll(/[^\w.-]/g, "_");
  const exact = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
  const extended = plain === name ? "" : `; filename*=UTF-8''${exact}`;
  return { "content-disposition": `${disposition}; filename="${plain}"${extended}` };
}

const METHODS = ["GET", "HEAD"];

/** Acquires a permit for a download. Throws `GatewayError` without a token, and when no permit is available. */
export function admitDownload({ admission }: GatewayDependencies, scope: RequestScope): void {
  if (scope.token === null)
    throw new GatewayError("UNAUTHENTICATED", "Expected the header `Authorization: token <token>`.");
  admission.download.acquire(scope);
}

/** Serves a download. An incomplete body never looks complete. */
export async function serveDownload(
  { publicError, resolveIdentity, responseWriter, telemetry, shared }: GatewayDependencies,
  request: IncomingMessage,
  response: ServerResponse,
  { what, route, open }: DownloadTask,
): Promise<void> {
  if (!METHODS.includes(request.method ?? ""))
    return void response.writeHead(405, { allow: METHODS.join(", ") }).end();
  // Downloads have no deadline: only the end of the response, or a disconnect of the caller, ends the scope.
  const scope = new RequestScope(resolveIdentity(request), Number.POSITIVE_INFINITY);
  const { requestId, caller } = scope;
  const { headers: received } = request;
  let bytes = 0;
  const span = openRequestSpan(`${request.method} ${route}`, received, scope);
  const report = (code: string, error: GraphQLError | null = null) => {
    const failed: FailedPath[] = [];
    if (error) addPaths(failed, [error]);
    telemetry.download({ scope, span, headers: received }, { what, code, bytes, failed });
  };
  // A download has eleven `close` listeners when node:http is instrumented; Node warns above ten.
  response.setMaxListeners(20);
  onceClosed(response, () => scope.end("disconnected"));
  response.setHeaders(new Map(Object.entries({ ...NO_RENDERING, "x-request-id": requestId })));
  try {
    const { status, headers, body, failureOf } = await span.run(() => open(scope));
    /** The error that ended the body early; null when the caller disconnects. */
    let failure: unknown = null;
    // The end of the response ends the scope, which cancels the unread body.
    if (request.method === "HEAD") response.writeHead(status, headers).end();
    else {
      const sent = { status, headers, body };
      const sending = span.run(() =>
        responseWriter.stream(response, sent, caller, (length) => (bytes += length)),
      );
      await sending.catch((error: unknown) => {
        if (!scope.ended) failure = failureOf(error);
        abortConnection(response);
      });
    }
    onceClosed(response, () => {
      const isComplete = response.writableFinished;
      const error = failure ? publicError(failure) : null;
      report(isComplete ? "OK" : error ? codeOf(error) : "REQUEST_CANCELLED", error);
    });
  } catch (cause) {
    shared.reads.own.of(caller).endAfter(cause);
    const error = publicError(cause);
    report(codeOf(error), error);
    reject(response, "graphql", error, requestId);
  }
}

/** Keeps browsers from rendering the output of a run as a page of this origin. */
const NO_RENDERING = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox",
  "cache-control": CACHE_CONTROL_PRIVATE,
};

const DOWNLOAD_ROUTE = /^\/downloads\/([^/?]+)\/(logs|outputs|files)(?:\?|$)/;

/**
 * Serves the routes behind `logsUrl`, `outputsUrl` and `OutputFile.url`: `GET /downloads/{global id}/logs`, `…/outputs` and
 * `…/files?path=`. Streams the upstream response, requested with the caller's token, no faster than the caller reads it. HEAD returns the
 * headers of the same response. Returns false for other paths.
 */
export function createDownloads(dependencies: GatewayDependencies) {
  const { client, shared } = dependencies;

  const open = async (
    request: IncomingMessage,
    { id, what }: { readonly id: string; readonly what: Download },
    scope: RequestScope,
  ): Promise<OpenedDownload> => {
    const { kind, address } = decodeId("id", id);
    const documented = kind[what];
    if (!documented)
      throw new InputError(`id: expected the id of a record with ${what}, got the id of ${a(kind.name)}`);
    const file = what === "files" ? pathOf(request.url ?? "") : null;
    admitDownload(dependencies, scope);
    const endpoint = shared.server.supported(documented);
    const path = endpoint.toPath(address) + (file === null ? "" : `?path=${encodeURIComponent(file)}`);
    const name = file === null ? kind.formatName(address) : file.replace(/^.*\//s, "");
    // A HEAD request is sent upstream as GET and then aborted, because errors have their reasons in bodies, and not every server supports
    // HEAD.
    const range = request.method === "HEAD" ? null : rangeOf(request);
    const { stream, status, bodyHeaders } = await client.stream({ endpoint, path, range }, scope);
    if (status === 416) {
      const { "content-range": length } = bodyHeaders;
      throw rejection("Range: expected bytes within the file, got others", "BAD_USER_INPUT", {
        status: 416,
        headers: length ? { "content-range": length } : {},
      });
    }
    const { type, disposition, suffix } = FORMS[what];
    return {
      status,
      headers: { "content-type": type, ...contentDisposition(disposition, name + suffix), ...bodyHeaders },
      body: stream,
      failureOf: (error) => mapTransportError(endpoint, error),
    };
  };

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const [, id, what] = DOWNLOAD_ROUTE.exec(request.url ?? "") ?? [];
    if (!id || !what) return false;
    // Safe: `DOWNLOAD_ROUTE` matches no other words.
    const file = { id, what: what as Download };
    void serveDownload(dependencies, request, response, {
      what: file.what,
      route: `/downloads/{id}/${what}`,
      open: (scope) => open(request, file, scope),
    });
    return true;
  };
}

/** The query parameter `path` of a URL. Throws `InputError` unless there is exactly one, with a plain path. */
function pathOf(url: string): string {
  const [path, ...others] = new URLSearchParams(url.slice(url.indexOf("?"))).getAll("path");
  if (path !== undefined && others.length === 0) return plainPath("path", path);
  throw new InputError(`path: expected one query parameter, got ${path === undefined ? "none" : "several"}`);
}

const FORMS = {
  // Logs are sent as plain text, although known servers send them as `text/html`.
  logs: { type: "text/plain; charset=utf-8", disposition: "inline", suffix: ".log" },
  outputs: { type: "application/gzip", disposition: "attachment", suffix: ".tar.gz" },
  // Files of a run must not be rendered on this origin.
  files: { type: "application/octet-stream", disposition: "attachment", suffix: "" },
} as const satisfies Record<Download, object>;

/** Matches a single range. Other `Range` headers are ignored, as RFC 9110 allows: the response is then the whole file. */
const RANGE = /^bytes=(?:\d{1,15}-\d{0,15}|-\d{1,15})$/;

/** The `Range` and `If-Range` headers to forward; null when the whole file is requested. */
function rangeOf({ headers }: IncomingMessage): Readonly<Record<string, string>> | null {
  const { range, "if-range": validator } = headers;
  if (range === undefined || !RANGE.test(range)) return null;
  return { range, ...(typeof validator === "string" && { "if-range": validator }) };
}
