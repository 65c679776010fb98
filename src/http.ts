import type { IncomingMessage, ServerResponse } from "node:http";
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

  const post = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // Refused before anything is done for it: work on answers that come too late is lost.
    if (operations >= maxOperations)
      return refuse(request, response, 503, "The gateway has more to do than it can.");
    operations++;
    response.once("close", () => operations--);
    if (await takeBody(request, response, maxBodyBytes)) graphql(request, response);
  };

  const route: Listener = (request, response) => {
    const [path] = (request.url ?? "").split("?", 1);
    if (path === "/healthz") return answer(response, 200, "alive\n");
    if (path === "/readyz")
      return draining ? answer(response, 503, "draining\n") : answer(response, 200, "ready\n");
    if (path === "/metrics" && telemetry) return void answerMetrics(response, telemetry);
    if (download(request, response)) return;
    if (path !== "/graphql") return answer(response, 404, "not found\n");
    if (request.method !== "POST") return graphql(request, response);
    void post(request, response);
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
async function takeBody(request: IncomingMessage, response: ServerResponse, most: number): Promise<boolean> {
  if (!JSON_TYPE.test(request.headers["content-type"] ?? "")) {
    refuse(request, response, 415, "Expected a body of application/json.");
    return false;
  }
  // Yoga knows it by small letters only.
  request.headers["content-type"] = "application/json";
  const length = request.headers["content-length"];
  if (length !== undefined) {
    if (Number(length) <= most) return true;
    refuse(request, response, 413, `Expected a body of at most ${most} bytes.`);
    return false;
  }
  // No length: the body is counted while it comes, and handed on whole.
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > most) {
        refuse(request, response, 413, `Expected a body of at most ${most} bytes.`);
        return false;
      }
      chunks.push(chunk);
    }
  } catch {
    // The caller broke off: nobody waits for an answer.
    return false;
  }
  // Where the adapter below finds a body that was read before it.
  Object.assign(request, { body: Buffer.concat(chunks) });
  return true;
}

const REFUSALS = { 413: "OPERATION_TOO_LARGE", 415: "BAD_USER_INPUT", 503: "SERVICE_OVERLOADED" };

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  status: keyof typeof REFUSALS,
  message: string,
): void {
  const code = REFUSALS[status];
  const { requestId } = identifyNode(request.headers);
  const headers = {
    "content-type": "application/json; charset=utf-8",
    "x-request-id": requestId,
    connection: "close",
  };
  response.writeHead(status, headers);
  response.end(JSON.stringify({ errors: [{ message, extensions: { code, requestId } }] }));
  request.resume();
}
