import type { IncomingMessage, ServerResponse } from "node:http";
import { context } from "@opentelemetry/api";
import cors from "cors";
import { rejection } from "../engine/errors.ts";
import { afterPendingIo } from "../engine/scheduler.ts";
import { type Identity, RequestScope } from "../callers/request-scope.ts";
import { LinkedList } from "../util/linked-list.ts";
import { discardBody, hasBody, readBody } from "./request-body.ts";
import { MAX_PIPELINED_REQUESTS, onceClosed, responsesOn, unanswered, trackResponse } from "./connections.ts";
import { Permit } from "./admission.ts";
import { eventFormFor } from "./graphql/content-negotiation.ts";
import { codeOf, type Protocol, reject } from "./error-response.ts";
import { PATHS, pathOf } from "./paths.ts";
import { sendText } from "./text-response.ts";
import type { GatewayDependencies } from "./dependencies.ts";
import { afterPoll, QUIET_MS, refuse } from "./server.ts";
import {
  hasTooManyHeaders,
  hasValidUrl,
  isAmong,
  isOwnLocalPage,
  normalizeTarget,
} from "./request-target.ts";

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Executes a request and writes its result. The scope ends when the result is encoded, before it is written. The scope of a streamed result
 * ends with its last chunk. `body` is null unless the request is a POST.
 */
export type Execute = (response: ServerResponse, body: Buffer | null, scope: RequestScope) => Promise<void>;

interface Routes {
  readonly graphql: Execute;
  /** Null when `/mcp` is off. */
  readonly mcp: Execute | null;
  /** Downloads, exports and the page of GraphiQL. Each returns false for requests of other routes. */
  readonly others: readonly ((request: IncomingMessage, response: ServerResponse) => boolean)[];
}

/** Maximum size of an agent's message, in bytes. The MCP SDK takes 100 times as long as `JSON.parse` to read a message. */
const MAX_MESSAGE_BYTES = 65_536;

const OTHER_ORIGIN = rejection("Expected no Origin or one of CORS_ORIGINS, got another.", "BAD_REQUEST", {
  status: 403,
});

/** Routes requests to GraphQL, MCP, probes, metrics, downloads, exports and GraphiQL. Applies CORS, and the limits on load and bodies. */
export function createRouter(dependencies: GatewayDependencies, { graphql, mcp, others }: Routes) {
  const { config, origins, resolveIdentity, admission, responseWriter, telemetry } = dependencies;
  const open = new LinkedList<ServerResponse>();
  let draining = false;
  let onEmpty: (() => void) | null = null;
  // The allowed origin is never `*`. Credentials are not allowed: a token is sent in a header, which only the code of a page can set. An
  // allowed page may send any header, because monitoring tools add their own headers.
  const allow = cors({
    origin: [...origins],
    methods: ["GET", "POST"],
    exposedHeaders:
      "x-request-id,content-disposition,content-length,content-range,accept-ranges,etag,retry-after,x-total-count",
    maxAge: 600,
  });

  const rejectAs = (
    cause: unknown,
    protocol: Protocol,
    { requestId }: Identity,
    response: ServerResponse,
  ): void => {
    const error = dependencies.publicError(cause);
    reject(response, protocol, error, requestId);
    telemetry.rejected(codeOf(error));
  };

  /** Serves the requests of a protocol: acquires a permit, reads the body, executes the request. */
  const serve = (protocol: Protocol, execute: Execute, maxBytes: number): Listener => {
    /**
     * Acquires a permit for a request: a stream permit if the request accepts event streams and such a permit is free, otherwise an
     * operation permit.
     */
    const permitFor = ({ headers }: IncomingMessage, { caller }: Identity) => {
      const mayLast = protocol === "graphql" && eventFormFor(headers.accept) !== null;
      const permit = mayLast ? admission.stream.tryAcquire(caller) : null;
      return permit instanceof Permit ? permit : admission.operation.tryAcquire(caller);
    };

    /**
     * Runs an operation unless its caller has disconnected: under overload many callers give up before their request is accepted. Node reads
     * each socket once per tick, so a close that follows the request is visible two ticks later.
     */
    const run = (identity: Identity, permit: Permit, response: ServerResponse, body: Buffer | null): void => {
      // The scope is opened before the operation is scheduled, so that the permit of an unverified caller can be preempted while it waits.
      const scope = new RequestScope(identity, config.REQUEST_TIMEOUT_MS);
      scope.holdPermit(permit);
      try {
        // The body stays in memory until the operation gets a time slice, and many operations may wait.
        if (body) dependencies.memoryBudget.charge(scope, body.length);
      } catch (error) {
        scope.end("completed");
        return rejectAs(error, protocol, identity, response);
      }

      // The trace context is bound, because a time slice runs the tasks of many requests in the context of the first.
      const begin = context.bind(context.active(), () => {
        onceClosed(response, () => scope.end("disconnected"));
        execute(response, body, scope).catch((error: unknown) => {
          dependencies.onError(error);
          response.req.socket.destroy();
        });
      });
      afterPendingIo(() => afterPendingIo(() => dependencies.scheduler.run(identity.caller, begin)));
    };

    return (request, response) => {
      const identity = resolveIdentity(request);
      const permit = permitFor(request, identity);
      if (!(permit instanceof Permit)) return rejectAs(permit, protocol, identity, response);
      if (request.method !== "POST") return run(identity, permit, response, null);
      let isRead = false;
      const openAccount = (abort: () => void) => responseWriter.openAccount(identity.caller, abort);
      readBody(request, maxBytes, openAccount, (body) => {
        isRead = true;
        permit.forbidPreemption();
        if (Buffer.isBuffer(body)) return run(identity, permit, response, body);
        permit.release();
        if (body) rejectAs(body, protocol, identity, response);
      });
      // The permit is preemptible until the body has been read, so that a body that never arrives does not keep other callers out.
      afterPendingIo(() => isRead || permit.allowPreemption("idle", () => refuse(request.socket, 408)));
    };
  };

  const maxBodyBytes = config.MAX_BODY_BYTES;
  const serveGraphql = serve("graphql", graphql, maxBodyBytes);

  const serveMessage = mcp && serve("mcp", mcp, Math.min(maxBodyBytes, MAX_MESSAGE_BYTES));

  /** The paths at which the body of a POST is read. */
  const readers = new Set<string>(serveMessage ? [PATHS.graphql, PATHS.mcp] : [PATHS.graphql]);

  const serveMcp: Listener = (request, response) => {
    const { origin, host } = request.headers;
    // An unknown page may have reached this gateway by DNS rebinding.
    const isKnownPage = origin === undefined || isAmong(origins, origin) || isOwnLocalPage(origin, host);
    // Without sessions, MCP needs only POST.
    if (request.method !== "POST") response.writeHead(405, { allow: "POST" }).end();
    else if (isKnownPage) serveMessage?.(request, response);
    else rejectAs(OTHER_ORIGIN, "mcp", resolveIdentity(request), response);
  };

  let collecting: Promise<string> | null = null;
  /** Collects the metrics once for all concurrent requests, such as pipelined ones. */
  const collectMetrics = (): Promise<string> =>
    (collecting ??= telemetry.registry.metrics().finally(() => void (collecting = null)));

  const route: Listener = (request, response) => {
    const path = pathOf(request);
    if (path === PATHS.graphql && request.method === "POST") return serveGraphql(request, response);
    if (path === PATHS.alive) return sendText(response, 200, "alive\n");
    if (path === PATHS.ready)
      return draining ? sendText(response, 503, "draining\n") : sendText(response, 200, "ready\n");
    if (path === PATHS.metrics && config.METRICS)
      return void collectMetrics().then((text) =>
        sendText(response, 200, text, telemetry.registry.contentType),
      );
    // The location is relative, because a proxy may serve the gateway under a path prefix.
    if (path === PATHS.root)
      return void response.writeHead(307, { location: "graphql", "cache-control": "no-store" }).end();
    if (others.some((handle) => handle(request, response))) return;
    if (path === PATHS.graphql) serveGraphql(request, response);
    else if (path === PATHS.mcp && serveMessage) serveMcp(request, response);
    else sendText(response, 404, "not found\n");
  };

  const handleRequest: Listener = (request, response) => {
    const link = open.add(response);
    trackResponse(response, () => {
      open.remove(link);
      if (open.size === 0) onEmpty?.();
    });
    // Anybody can leave the responses to many pipelined requests unread, and each open response takes several kilobytes.
    const most = open.size > config.MAX_CONNECTIONS ? 1 : MAX_PIPELINED_REQUESTS;
    if (unanswered(request.socket) > most) return void request.socket.destroy();
    normalizeTarget(request);
    const isRead = request.method === "POST" && readers.has(pathOf(request));
    if (!isRead && hasBody(request)) discardBody(response);
    const isCut = hasTooManyHeaders(request);
    // The connection is closed, because Node drops further requests in the same packet after it has declined an offer of another protocol.
    if (isCut || request.headers.upgrade !== undefined) response.setHeader("connection", "close");
    if (draining) closeAfter(response);
    if (isCut) sendText(response, 431, "too many headers\n");
    else if (!hasValidUrl(request)) sendText(response, 400, "bad request\n");
    else if (origins.length === 0) route(request, response);
    else allow(request, response, () => route(request, response));
  };

  return {
    handleRequest,
    /** Makes `/readyz` fail and every response close its connection, so that load balancers send requests elsewhere. */
    announceEnd: () => {
      if (draining) return;
      draining = true;
      for (const response of open.members()) closeAfter(response);
    },
    /** Resolves when no request is unanswered. */
    drained: () =>
      new Promise<void>((resolve) => {
        onEmpty = resolve;
        if (open.size === 0) resolve();
      }),
    /** Rejects the requests whose bodies have not arrived. */
    refuseUnfinished: () => {
      for (const { req, headersSent } of open.members()) {
        if (req.complete) continue;
        if (headersSent) req.socket.destroy();
        else refuse(req.socket, 408);
      }
    },
  };
}

/**
 * Makes a response the last one of its connection. A download does not announce the close in a header, because some clients would then take
 * the end of the connection as the end of the body, and a truncated log would look complete.
 */
function closeAfter(response: ServerResponse): void {
  const { url = "", socket } = response.req;
  // An earlier response must not close the connection, because the responses after it would be lost.
  for (const earlier of responsesOn(socket)) if (!earlier.headersSent) earlier.removeHeader("connection");
  const isDownload = url.startsWith(PATHS.downloads) || url.startsWith(PATHS.exports);
  if (response.headersSent || isDownload)
    response.once("close", () => afterPoll(QUIET_MS, () => unanswered(socket) || socket.destroySoon()));
  else response.setHeader("connection", "close");
}
