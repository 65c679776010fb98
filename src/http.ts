import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import cors from "cors";
import { identifyNode } from "./caller.ts";
import type { Telemetry } from "./telemetry.ts";

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

export interface DoorSettings {
  readonly graphql: Listener;
  /** Gives false when the path is no download. */
  readonly download: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Null when `/metrics` is off. */
  readonly telemetry: Telemetry | null;
  readonly origins: readonly string[];
  readonly maxBodyBytes: number;
  /** Most GraphQL requests at a time. */
  readonly maxOperations: number;
}

/** What a caller may cost a connection. Times are in milliseconds. */
export const SOCKET_LIMITS = {
  /** For the head of a request, and for the whole: who dawdles is told 408. */
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  maxHeaderSize: 16_384,
  // Unless told, Node looks for those that dawdle every 30 s only.
  connectionsCheckingInterval: 1_000,
  /** Without taking a byte of what is answered. */
  timeout: 30_000,
};

/** A server that lets go of callers that dawdle. */
export function createHttpServer(listener: Listener, limits = SOCKET_LIMITS): Server {
  const server = createServer(limits);
  server.timeout = limits.timeout;
  server.on("request", (_, response) => {
    // Where nothing waits to be taken, it is the caller who waits.
    response.on("timeout", (socket: Socket) => {
      if (socket.writableLength > 0) socket.destroy();
    });
  });
  return server.on("request", listener);
}

export interface Door {
  readonly listen: Listener;
  /** From now on not ready, and every answer closes its connection: a balancer sends its requests elsewhere. */
  readonly drain: () => void;
}

/** The front of the house: probes, metrics, CORS and the rules for bodies; behind it downloads and GraphQL. */
export function createDoor(settings: DoorSettings): Door {
  const { graphql, download, telemetry, maxBodyBytes, maxOperations } = settings;
  const open = new Set<ServerResponse>();
  let draining = false;
  let operations = 0;
  // Exact origins, never `*`, and no credentials: tokens travel in a header that only the page's own code can set.
  const allow = cors({
    origin: [...settings.origins],
    methods: ["GET", "POST"],
    allowedHeaders: ["authorization", "content-type", "x-request-id", "traceparent"],
    exposedHeaders: ["x-request-id", "content-disposition"],
    maxAge: 600,
  });

  const turnAway: TurnAway = (request, response, status, message) => {
    telemetry?.refused(REFUSALS[status]);
    refuse(request, response, status, message);
  };

  /** Refused before anything is done for it: work on answers that come too late is lost. */
  const isBusy = (request: IncomingMessage, response: ServerResponse): boolean => {
    if (operations < maxOperations) return false;
    turnAway(request, response, 503, "The gateway has more to do than it can.");
    return true;
  };

  /**
   * Starts an operation, unless its caller has left: under an overload many gave up before they were even accepted. Of a
   * socket Node reads once in a turn of its loop, so what came behind a request, an end as well, is known two turns later.
   */
  const run = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    await turnOfTheLoop();
    await turnOfTheLoop();
    if (!request.socket.readable || isBusy(request, response)) return;
    operations++;
    response.once("close", () => operations--);
    graphql(request, response);
  };

  const post = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (await takeBody(request, response, maxBodyBytes, turnAway)) await run(request, response);
  };

  const route: Listener = (request, response) => {
    const [path] = (request.url ?? "").split("?", 1);
    if (path === "/healthz") return answer(response, 200, "alive\n");
    if (path === "/readyz")
      return draining ? answer(response, 503, "draining\n") : answer(response, 200, "ready\n");
    if (path === "/metrics" && telemetry) return void answerMetrics(response, telemetry);
    if (download(request, response)) return;
    if (path !== "/graphql") return answer(response, 404, "not found\n");
    if (!isBusy(request, response)) void (request.method === "POST" ? post : run)(request, response);
  };

  const enter: Listener = (request, response) => {
    if (draining) closeBehind(response);
    open.add(response);
    response.once("close", () => open.delete(response));
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

async function answerMetrics(response: ServerResponse, { metrics, contentType }: Telemetry): Promise<void> {
  answer(response, 200, await metrics(), contentType);
}

const JSON_TYPE = /^application\/(?:json|graphql\+json)\s*(?:;|$)/i;

/**
 * Refuses what is no JSON (415: a page of another site can send forms and text, but no JSON, without being asked)
 * and what is too long (413). Gives whether the request may go on.
 */
async function takeBody(
  request: IncomingMessage,
  response: ServerResponse,
  most: number,
  turnAway: TurnAway,
): Promise<boolean> {
  if (!JSON_TYPE.test(request.headers["content-type"] ?? "")) {
    turnAway(request, response, 415, "Expected a body of application/json.");
    return false;
  }
  // Yoga knows it by small letters only.
  request.headers["content-type"] = "application/json";
  const body =
    Number(request.headers["content-length"] ?? 0) > most ? "too long" : await readBody(request, most);
  if (body === "broken off") return false;
  if (body === "too long") {
    turnAway(request, response, 413, `Expected a body of at most ${most} bytes.`);
    return false;
  }
  // Where the adapter below finds a body that was read before it. It lists the keys of what it finds: of a Buffer that
  // would be one for each byte.
  Object.assign(request, {
    body: {
      pieces: body,
      async *[Symbol.asyncIterator]() {
        yield* body;
      },
    },
  });
  return true;
}

/** The pieces of a body, unless it is longer than `most` bytes or its caller leaves before its end. */
const readBody = (
  request: IncomingMessage,
  most: number,
): Promise<readonly Buffer[] | "too long" | "broken off"> =>
  new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let size = 0;
    request.on("data", (piece: Buffer) => {
      size += piece.length;
      if (size <= most) pieces.push(piece);
      else resolve("too long");
    });
    request.once("end", () => resolve(pieces));
    request.once("close", () => resolve("broken off"));
    request.on("error", () => {});
  });

const GRAPHQL_TYPE = /application\/graphql-response\+json/;

const REFUSALS = { 413: "OPERATION_TOO_LARGE", 415: "BAD_USER_INPUT", 503: "SERVICE_OVERLOADED" };

type TurnAway = (
  request: IncomingMessage,
  response: ServerResponse,
  status: keyof typeof REFUSALS,
  message: string,
) => void;

const refuse: TurnAway = (request, response, status, message) => {
  const code = REFUSALS[status];
  const { requestId } = identifyNode(request.headers);
  const headers = {
    // Who accepts the newer type reads an error of the older one as no answer of GraphQL at all.
    "content-type": `${GRAPHQL_TYPE.exec(request.headers.accept ?? "")?.[0] ?? "application/json"}; charset=utf-8`,
    "x-request-id": requestId,
    connection: "close",
  };
  response.writeHead(status, headers);
  response.end(JSON.stringify({ errors: [{ message, extensions: { code, requestId } }] }));
  request.resume();
};
