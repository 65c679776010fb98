import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { authenticate } from "./http/accounts.ts";
import { decodeBody, type DemoResponse, empty, HttpError, json, readBody } from "./http/messages.ts";
import { createRouter, extraRoutes, routes } from "./routes.ts";
import { seed } from "./seed/seed.ts";
import { applyDueEvents } from "./simulation.ts";
import { createStore, type User } from "./store.ts";

/** A running demo service. */
export interface Demo {
  /** Its base URL, without `/api/v1`. */
  readonly url: string;
  /** The users at the start with their passwords and tokens; the last one is not active yet. */
  readonly users: readonly Pick<User, "username" | "password" | "token" | "isSuperuser" | "isActive">[];
  close(): Promise<void>;
}

export interface DemoOptions {
  /** 0 (the default) takes any free port. */
  readonly port?: number;
  /** The clock of the simulation, in milliseconds since 1970. */
  readonly now?: () => number;
  /** False leaves out the endpoints that are not in the service's document. */
  readonly lists?: boolean;
  /** Whether runs in a separate project start repeatedly, so that there is always one to watch. */
  readonly activity?: boolean;
  /** Receives each request that arrives, such as `GET /api/v1/ada/mnist/jobs/1/`. */
  readonly onCall?: (call: string) => void;
}

/** Starts the service on the loopback interface with a new store. */
export async function startDemo({
  port = 0,
  now = Date.now,
  lists = true,
  activity = false,
  onCall = () => {},
}: DemoOptions = {}): Promise<Demo> {
  const store = createStore(now);
  seed(store, { activity });
  const users = [...store.users.values()].map(({ username, password, token, isSuperuser, isActive }) => {
    return { username, password, token, isSuperuser, isActive };
  });
  const match = createRouter(lists ? [...routes, ...extraRoutes] : routes);

  async function respond(request: IncomingMessage): Promise<DemoResponse> {
    const { method = "GET", url = "/", headers } = request;
    const [path = "/"] = url.split("?", 1);
    const bytes = await readBody(request);
    const found = match(method, path);
    if (found.kind === "unknown path") return method === "GET" ? htmlPage(404, "Not found") : empty(405);
    if (found.kind === "wrong method") return json(405, { detail: `Method "${method}" not allowed.` });
    applyDueEvents(store);
    return found.handler({
      store,
      caller: authenticate(store, headers.authorization),
      params: found.params,
      query: new URLSearchParams(url.slice(path.length)),
      address: `http://${headers.host ?? "localhost"}${path}`,
      headers,
      body: () => decodeBody(bytes, headers["content-type"]),
    });
  }

  const server = createServer((request, response) => {
    onCall(`${request.method} ${request.url}`);
    void respond(request)
      .catch((error: unknown) => errorResponse(request, error))
      .then((result) => send(response, result));
  });
  // Otherwise a client's pool may use a connection that is just being closed.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
  });
  // A server that listens on a port has an address of this kind.
  const address = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${address.port}`,
    users,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function htmlPage(status: number, title: string): DemoResponse {
  return {
    status,
    headers: { "content-type": "text/html; charset=utf-8" },
    body: `<!DOCTYPE html>\n<html>\n<head>\n    <title>${title}</title>\n</head>\n<body>${title}</body>\n</html>\n`,
  };
}

/** An unexpected error looks like a crash of a real server. */
function errorResponse({ method }: IncomingMessage, error: unknown): DemoResponse {
  if (error instanceof HttpError) return json(error.status, error.body);
  return method === "GET" ? htmlPage(500, "Server error") : empty(405);
}

function send(response: ServerResponse, { status, headers, body }: DemoResponse): void {
  response.statusCode = status;
  response.setHeaders(new Map(Object.entries(headers)));
  response.end(body);
}
