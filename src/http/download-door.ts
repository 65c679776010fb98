import type { IncomingMessage, ServerResponse } from "node:http";
import type { GraphQLError } from "graphql";
import { addPlaces, type FailedPlace } from "../engine/errors.ts";
import type { DownloadFacts } from "../observability/telemetry.ts";
import { openRequestSpan } from "../observability/tracing.ts";
import { UpstreamError } from "../errors.ts";
import { RequestScope } from "../request-scope.ts";
import { breakOff, onceOver } from "./connection.ts";
import { PRIVATE } from "./graphql/encoding.ts";
import type { Parts } from "./operation.ts";
import { codeOf, reject } from "./rejection.ts";

/** What is sent: the head, which is known before the body begins, and the body, which is read at the caller's pace. */
export interface OpenedDownload {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** What made the body break off, as an error for callers or a fault of the gateway. */
  readonly failureOf: (error: unknown) => unknown;
}

interface DownloadTask {
  readonly what: DownloadFacts["what"];
  /** The path without ids, for spans. */
  readonly route: string;
  /** Must call `admitDownload` before it asks the service. */
  readonly open: (scope: RequestScope) => Promise<OpenedDownload>;
}

/** Names a file: in ASCII, and as it is where that is not the same (RFC 6266). */
export function named(disposition: "inline" | "attachment", name: string) {
  const plain = name.replaceAll(/[^\w.-]/g, "_");
  const exact = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
  const extended = plain === name ? "" : `; filename*=UTF-8''${exact}`;
  return { "content-disposition": `${disposition}; filename="${plain}"${extended}` };
}

const METHODS = ["GET", "HEAD"];

/** Takes a place among the downloads. Throws `UpstreamError` without a token, and when there is none. */
export function admitDownload({ doors }: Parts, scope: RequestScope): void {
  if (scope.token === null)
    throw new UpstreamError("UNAUTHENTICATED", "Expected the header `Authorization: token <token>`.");
  const rejection = doors.download.admit(scope);
  if (rejection) throw rejection;
}

/** Serves what can last long: no deadline, a place among the downloads, and a body that never looks whole when it is not. */
export async function serveDownload(
  { publicError, identify, delivery, telemetry }: Parts,
  request: IncomingMessage,
  response: ServerResponse,
  { what, route, open }: DownloadTask,
): Promise<void> {
  if (!METHODS.includes(request.method ?? ""))
    return void response.writeHead(405, { allow: METHODS.join(", ") }).end();
  // Downloads have no deadline: only a disconnect of the caller ends the scope.
  const scope = new RequestScope(identify(request), Number.POSITIVE_INFINITY);
  const { requestId, caller } = scope;
  const { headers: asked } = request;
  let bytes = 0;
  const span = openRequestSpan(`${request.method} ${route}`, asked);
  const report = (code: string, error: GraphQLError | null = null) => {
    const failed: FailedPlace[] = [];
    if (error) addPlaces(failed, [error]);
    telemetry.download({ scope, span, headers: asked }, { what, code, bytes, failed });
  };
  // A download has eleven `close` listeners when node:http is instrumented; Node warns above ten.
  response.setMaxListeners(20);
  onceOver(response, () => scope.end("left"));
  response.setHeaders(new Map(Object.entries({ ...NO_RENDERING, "x-request-id": requestId })));
  try {
    const { status, headers, body, failureOf } = await span.run(() => open(scope));
    /** What made the body break off; stays null when the caller disconnects. */
    let failure: unknown = null;
    // The end of the response ends the scope, and with it what is not read.
    if (request.method === "HEAD") response.writeHead(status, headers).end();
    else {
      const sent = { status, headers, body };
      const sending = span.run(() => delivery.stream(response, sent, caller, (length) => (bytes += length)));
      await sending.catch((error: unknown) => {
        if (!scope.ended) failure = failureOf(error);
        // A truncated file must not look complete.
        breakOff(response);
      });
    }
    onceOver(response, () => {
      const isComplete = response.writableFinished;
      const error = failure ? publicError(failure) : null;
      report(isComplete ? "OK" : error ? codeOf(error) : "REQUEST_CANCELLED", error);
    });
  } catch (cause) {
    const error = publicError(cause);
    report(codeOf(error), error);
    reject(response, "graphql", error, requestId);
  }
}

/** Keeps browsers from rendering the output of a run as a page of this origin. */
const NO_RENDERING = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox",
  "cache-control": PRIVATE,
};
