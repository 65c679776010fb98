import type { IncomingMessage, ServerResponse } from "node:http";
import { decodeId } from "../graphql/core/ids.ts";
import type { Download } from "../graphql/types/logs.ts";
import { InputError } from "../errors.ts";
import { plainPath } from "../rest/api/endpoint.ts";
import { mapFailure } from "../rest/client/failure.ts";
import { admitDownload, named, type OpenedDownload, serveDownload } from "./download-door.ts";
import type { Parts } from "./operation.ts";
import { rejection } from "../engine/errors.ts";
import type { RequestScope } from "../request-scope.ts";

const ROUTE = /^\/downloads\/([^/?]+)\/(logs|outputs|files)(?:\?|$)/;

/**
 * Serves the routes behind `logsUrl`, `outputsUrl` and `OutputFile.url`: `GET /downloads/{global id}/logs`, `…/outputs` and
 * `…/files?path=`. Streams the upstream response, requested with the caller's token, at the caller's pace. HEAD gives the
 * headers of the same response. Returns false for other paths.
 */
export function createDownloads(parts: Parts) {
  const { client, shared } = parts;

  const open = async (
    request: IncomingMessage,
    { id, what }: { readonly id: string; readonly what: Download },
    scope: RequestScope,
  ): Promise<OpenedDownload> => {
    const { kind, address } = decodeId("id", id);
    const documented = kind[what];
    if (!documented)
      throw new InputError(`id: expected something with ${what}, got the id of a ${kind.name}`);
    const file = what === "files" ? pathOf(request.url ?? "") : null;
    admitDownload(parts, scope);
    const endpoint = shared.server.offered(documented);
    const path = endpoint.toPath(address) + (file === null ? "" : `?path=${encodeURIComponent(file)}`);
    const name = file === null ? kind.formatName(address) : file.replace(/^.*\//s, "");
    // HEAD is asked as GET and cut off: errors have their reasons in bodies, and not every server knows HEAD.
    const range = request.method === "HEAD" ? null : rangeOf(request);
    const { stream, status, bodyHeaders } = await client.stream({ endpoint, path, range }, scope);
    if (status === 416) {
      const { "content-range": length } = bodyHeaders;
      throw rejection("Range: expected bytes that the file has, got others", "BAD_USER_INPUT", {
        status: 416,
        headers: length ? { "content-range": length } : {},
      });
    }
    return {
      status,
      headers: { ...HEADERS[what](name), ...bodyHeaders },
      body: stream,
      failureOf: (error) => mapFailure(endpoint, error),
    };
  };

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const [, id, what] = ROUTE.exec(request.url ?? "") ?? [];
    if (!id || !what) return false;
    // Safe: `ROUTE` matches no other words.
    const file = { id, what: what as Download };
    void serveDownload(parts, request, response, {
      what: file.what,
      route: `/downloads/{id}/${what}`,
      open: (scope) => open(request, file, scope),
    });
    return true;
  };
}

/** The path that the query of a URL names. Throws `InputError` unless it names one plain path. */
function pathOf(url: string): string {
  const [path, ...others] = new URLSearchParams(url.slice(url.indexOf("?"))).getAll("path");
  if (path !== undefined && others.length === 0) return plainPath("path", path);
  throw new InputError(`path: expected one query parameter, got ${path === undefined ? "none" : "several"}`);
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

/** The `Range` and `If-Range` headers to forward; null when the whole file is requested. */
function rangeOf({ headers }: IncomingMessage): Readonly<Record<string, string>> | null {
  const { range, "if-range": validator } = headers;
  if (range === undefined || !RANGE.test(range)) return null;
  return { range, ...(typeof validator === "string" && { "if-range": validator }) };
}
