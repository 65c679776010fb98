import type { IncomingMessage, ServerResponse } from "node:http";
import { context } from "@opentelemetry/api";
import cors from "cors";
import { rejection } from "../engine/errors.ts";
import { afterPendingIo } from "../engine/scheduler.ts";
import { type Identity, RequestScope } from "../callers/request-scope.ts";
import { LinkedList } from "../util/linked-list.ts";
import { discardBody, hasBody, readBody } from "./request-body.ts";
import { MAX_PIPELINED_REQUESTS, onceClosed, responsesOn, unanswered, watch } from "./connections.ts";
import { Permit } from "./admission.ts";
import { acceptsEvents } from "./graphql/encoding.ts";
import { codeOf, type Protocol, reject, sendText } from "./rejection.ts";
import type { GatewayDependencies } from "./operation.ts";
import { afterPoll, QUIET_MS, refuse } from "./server.ts";
import { hasValidUrl, isAmong, isOwnLocalPage, readTarget } from "./request-target.ts";

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** Executes a request and writes its result; its scope ends before, or with the last chunk. `body` is null unless it is a POST. */
export type Execute = (response: ServerResponse, body: Buffer | null, scope: RequestScope) => Promise<void>;

interface Routes {
  readonly graphql: Execute;
  /** Null when `/mcp` is off. */
  readonly mcp: Execute | null;
  /** Downloads, exports and the page of GraphiQL. Each returns false when the request is none of its own. */
  readonly others: readonly ((request: IncomingMessage, response: ServerResponse) => boolean)[];
}

/** Longest message of an agent, in bytes. The protocol's package takes 100 times longer to read one than the parser of JSON. */
const MAX_MESSAGE_BYTES = 65_536;

const OTHER_ORIGIN = rejection("Expected no Origin or one of CORS_ORIGINS, got another.", "BAD_REQUEST", {
  status: 403,
});

const pathOf = ({ url = "" }: IncomingMessage): string => url.split("?", 1)[0] ?? "";

/** Routes requests: GraphQL by POST, probes and metrics, downloads, exports, the page, and the rest. Applies CORS, load and body limits. */
export function createRouter(dependencies: GatewayDependencies, { graphql, mcp, others }: Routes) {
  const { config, origins, identify, admission, responseWriter, telemetry } = dependencies;
  const open = new LinkedList<ServerResponse>();
  let draining = false;
  let onEmpty: (() => void) | null = null;
  // Never `*`, and no credentials: tokens are sent in a header that only the page's own code can set. So an allowed page may send
  // any header: those that monitoring adds have no end.
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
    /** A permit for a request, which may be a subscription if it accepts an event stream and a stream is free. */
    const permitFor = ({ headers }: IncomingMessage, { caller }: Identity) => {
      const mayLast = protocol === "graphql" && acceptsEvents(headers.accept);
      const permit = mayLast ? admission.stream.tryAcquire(caller) : null;
      return permit instanceof Permit ? permit : admission.operation.tryAcquire(caller);
    };

    /**
     * Runs an operation unless its caller has disconnected: under overload many callers give up before their request is accepted. Node reads
     * each socket once per tick, so a close that follows the request is visible two ticks later.
     */
    const run = (identity: Identity, permit: Permit, response: ServerResponse, body: Buffer | null): void => {
      // Before it is scheduled, so that the permit of an unverified caller can be preempted meanwhile.
      const scope = new RequestScope(identity, config.REQUEST_TIMEOUT_MS);
      scope.holdPermit(permit);
      try {
        // Until its time slice comes, as many others may wait.
        if (body) dependencies.memoryBudget.charge(scope, body.length);
      } catch (error) {
        scope.end("completed");
        return rejectAs(error, protocol, identity, response);
      }

      // A time slice runs the tasks of many requests, in the trace context of the first.
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
      const identity = identify(request);
      const permit = permitFor(request, identity);
      if (!(permit instanceof Permit)) return rejectAs(permit, protocol, identity, response);
      if (request.method !== "POST") return run(identity, permit, response, null);
      let isRead = false;
      const openWaiting = (abort: () => void) => responseWriter.openWaiting(identity.caller, abort);
      readBody(request, maxBytes, openWaiting, (body) => {
        isRead = true;
        permit.forbidPreemption();
        if (Buffer.isBuffer(body)) return run(identity, permit, response, body);
        permit.release();
        if (body) rejectAs(body, protocol, identity, response);
      });
      // A body that does not arrive excludes no other caller.
      afterPendingIo(() => isRead || permit.allowPreemption("idle", () => refuse(request.socket, 408)));
    };
  };

  const maxBodyBytes = config.MAX_BODY_BYTES;
  const serveGraphql = serve("graphql", graphql, maxBodyBytes);

  const serveMessage = mcp && serve("mcp", mcp, Math.min(maxBodyBytes, MAX_MESSAGE_BYTES));

  /** Where the body of a POST is read. */
  const readers = new Set(serveMessage ? ["/graphql", "/mcp"] : ["/graphql"]);

  const serveMcp: Listener = (request, response) => {
    const { origin, host } = request.headers;
    // A page that no setting names may be one that rebinds DNS.
    const isKnownPage = origin === undefined || isAmong(origins, origin) || isOwnLocalPage(origin, host);
    // Without sessions, MCP has only POST.
    if (request.method !== "POST") response.writeHead(405, { allow: "POST" }).end();
    else if (isKnownPage) serveMessage?.(request, response);
    else rejectAs(OTHER_ORIGIN, "mcp", identify(request), response);
  };

  let collecting: Promise<string> | null = null;
  /** Collects the metrics once for all requests that come meanwhile, such as pipelined ones. */
  const collectMetrics = (): Promise<string> =>
    (collecting ??= telemetry.registry.metrics().finally(() => void (collecting = null)));

  const route: Listener = (request, response) => {
    const path = pathOf(request);
    if (path === "/graphql" && request.method === "POST") return serveGraphql(request, response);
    if (path === "/healthz") return sendText(response, 200, "alive\n");
    if (path === "/readyz")
      return draining ? sendText(response, 503, "draining\n") : sendText(response, 200, "ready\n");
    if (path === "/metrics" && config.METRICS)
      return void collectMetrics().then((text) =>
        sendText(response, 200, text, telemetry.registry.contentType),
      );
    // Relative, because a proxy may serve the gateway under a path prefix.
    if (path === "/")
      return void response.writeHead(307, { location: "graphql", "cache-control": "no-store" }).end();
    if (others.some((handle) => handle(request, response))) return;
    if (path === "/graphql") serveGraphql(request, response);
    else if (path === "/mcp" && serveMessage) serveMcp(request, response);
    else sendText(response, 404, "not found\n");
  };

  const listen: Listener = (request, response) => {
    const link = open.add(response);
    watch(response, () => {
      open.remove(link);
      if (open.size === 0) onEmpty?.();
    });
    if (unanswered(request.socket) > MAX_PIPELINED_REQUESTS) return void request.socket.destroy();
    readTarget(request);
    const isRead = request.method === "POST" && readers.has(pathOf(request));
    if (!isRead && hasBody(request)) discardBody(response);
    // Once Node has declined the offer of another protocol, it drops what follows in the same packet.
    if (request.headers.upgrade !== undefined) response.setHeader("connection", "close");
    if (draining) closeAfter(response);
    if (!hasValidUrl(request)) sendText(response, 400, "bad request\n");
    else if (origins.length === 0) route(request, response);
    else allow(request, response, () => route(request, response));
  };

  return {
    listen,
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
 * Makes a response the last one of its connection. A download under way does not say so: some clients would take the close
 * for the end of the body, and a truncated log would look complete.
 */
function closeAfter(response: ServerResponse): void {
  const { url = "", socket } = response.req;
  // Responses behind one that closes would be lost.
  for (const earlier of responsesOn(socket)) if (!earlier.headersSent) earlier.removeHeader("connection");
  if (response.headersSent || /^\/(?:downloads|export)\//.test(url))
    response.once("close", () => afterPoll(QUIET_MS, () => unanswered(socket) || socket.destroySoon()));
  else response.setHeader("connection", "close");
}
