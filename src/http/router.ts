import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import cors from "cors";
import { takeTurn } from "../engine/turns.ts";
import type { Identity } from "../request-scope.ts";
import type { Telemetry } from "../observability/telemetry.ts";
import { type BodySettings, createBodyReader } from "./body.ts";
import { identify } from "./caller.ts";
import { hasTooManyRequests, onceOver } from "./connection.ts";
import type { Page } from "./graphiql/page.ts";
import type { NoPlace, Places } from "./places.ts";
import { reject, type Rejection } from "./rejection.ts";
import { openRequest, type RequestState } from "./request.ts";

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

export interface RouterSettings {
  /** Makes the result of a GraphQL request and calls `onResult`, then writes it. */
  readonly graphql: (
    response: ServerResponse,
    body: Buffer | null,
    state: RequestState,
    onResult: () => void,
  ) => Promise<void>;
  /** Gives false when the path is no download. */
  readonly download: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Null when there is no page. */
  readonly page: Page | null;
  /** Null when `/metrics` is off. */
  readonly telemetry: Telemetry | null;
  readonly origins: readonly string[];
  readonly bodies: BodySettings;
  /** Places of GraphQL requests whose results are being made. */
  readonly operations: Places;
  /** Whether so much waits for the service that a new operation of a party need not begin. */
  readonly isQueueFull: (party: string) => boolean;
  readonly requestTimeoutMs: number;
}

export interface Router {
  readonly listen: Listener;
  /** From now on not ready, and every answer closes its connection: a balancer sends its requests elsewhere. */
  readonly drain: () => void;
}

const NO_PLACE: Readonly<Record<NoPlace, Rejection>> = {
  "all taken": "overloaded",
  "share taken": "rate limited",
};

/** Probes, metrics, CORS and the rules for bodies; behind them downloads, the page and GraphQL. */
export function createRouter(settings: RouterSettings): Router {
  const { graphql, download, page, telemetry, operations, requestTimeoutMs } = settings;
  const takeBody = createBodyReader(settings.bodies);
  const open = new Set<ServerResponse>();
  let draining = false;
  // Exact origins, never `*`, and no credentials: tokens travel in a header that only the page's own code can set.
  const allow = cors({
    origin: [...settings.origins],
    methods: ["GET", "POST"],
    allowedHeaders: ["authorization", "content-type", "x-request-id", "traceparent", "range", "if-range"],
    exposedHeaders: [
      "x-request-id",
      "content-disposition",
      "content-length",
      "content-range",
      "accept-ranges",
      "etag",
      "retry-after",
    ],
    maxAge: 600,
  });

  const rejectAs = (rejection: Rejection, { requestId }: Identity, response: ServerResponse): void => {
    telemetry?.refused(reject(response, { rejection, requestId, maxBytes: settings.bodies.maxBytes }));
  };

  /** Rejects before anything is done for it: work on answers that come too late is lost. */
  const isRejected = (identity: Identity, response: ServerResponse): boolean => {
    const { party } = identity;
    const refusal = operations.refusalFor(party) ?? (settings.isQueueFull(party) ? "all taken" : null);
    if (refusal) rejectAs(NO_PLACE[refusal], identity, response);
    return refusal !== null;
  };

  /**
   * Runs an operation, unless its caller has left: under an overload many gave up before they were even accepted. Of a
   * socket Node reads once in a turn of its loop, so what came behind a request, an end as well, is known two turns later.
   */
  const run = async (identity: Identity, response: ServerResponse, body: Buffer | null): Promise<void> => {
    await turnOfTheLoop();
    await turnOfTheLoop();
    await takeTurn(identity.party);
    if (!response.req.socket.readable || isRejected(identity, response)) return;
    const leave = operations.take(identity.party);
    onceOver(response, leave);
    // The place is free when the result is there: how long its reader takes is nobody else's matter.
    await graphql(response, body, openRequest(identity, response, requestTimeoutMs), leave);
  };

  const answerGraphql = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const identity = identify(request);
    if (isRejected(identity, response)) return;
    const body = request.method === "POST" ? await takeBody(request) : null;
    if (body === "broken off") return;
    if (typeof body === "string") rejectAs(body, identity, response);
    else await run(identity, response, body);
  };

  const route: Listener = (request, response) => {
    const [path] = (request.url ?? "").split("?", 1);
    if (path === "/healthz") return answer(response, 200, "alive\n");
    if (path === "/readyz")
      return draining ? answer(response, 503, "draining\n") : answer(response, 200, "ready\n");
    if (path === "/metrics" && telemetry) return void answerMetrics(response, telemetry);
    if (path === "/") return redirectToGraphql(response);
    if (download(request, response) || page?.(request, response)) return;
    if (path === "/graphql") void answerGraphql(request, response);
    else answer(response, 404, "not found\n");
  };

  const enter: Listener = (request, response) => {
    if (hasTooManyRequests(response)) return void request.socket.destroy();
    if (draining) closeBehind(response);
    // A download has eleven listeners of `close` when an instrumentation of node:http is among them.
    response.setMaxListeners(20);
    open.add(response);
    onceOver(response, () => open.delete(response));
    if (!isAddressed(request)) answer(response, 400, "bad request\n");
    else if (settings.origins.length === 0) route(request, response);
    else allow(request, response, () => route(request, response));
  };

  return {
    listen: enter,
    drain: () => {
      draining = true;
      for (const response of open) closeBehind(response);
    },
  };
}

const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

/** Whether target and Host make a URL: the adapter below answers with a stack where they do not. */
function isAddressed({ url = "", headers: { host = "localhost" } }: IncomingMessage): boolean {
  return (
    HOST.test(host) &&
    url.startsWith("/") &&
    URL.canParse(`http://${host}${url}`) &&
    URL.canParse(url, `http://${host}`)
  );
}

/**
 * Ends the connection behind an answer. A stream is not announced so: some clients take the end of such a connection
 * for the end of the body, and a cut log would look whole.
 */
function closeBehind(response: ServerResponse): void {
  const { url = "", socket } = response.req;
  if (response.headersSent || url.startsWith("/downloads/"))
    response.once("close", () => socket.destroySoon());
  else response.setHeader("connection", "close");
}

function answer(
  response: ServerResponse,
  status: number,
  text: string,
  contentType = "text/plain; charset=utf-8",
): void {
  response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" }).end(text);
}

/** The address is relative: a proxy may serve the gateway below a path of its own. */
function redirectToGraphql(response: ServerResponse): void {
  response.writeHead(307, { location: "graphql", "cache-control": "no-store" }).end();
}

async function answerMetrics(response: ServerResponse, { metrics, contentType }: Telemetry): Promise<void> {
  answer(response, 200, await metrics(), contentType);
}
