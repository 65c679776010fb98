import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";

import { authenticate } from "./access.ts";
import { decodeBody, readBody } from "./body.ts";
import { settle } from "./course.ts";
import { createDispatch } from "./dispatch.ts";
import { type Answer, empty, json, Refusal } from "./exchange.ts";
import { listRoutes } from "./lists.ts";
import type { User } from "./model.ts";
import { routes } from "./routes.ts";
import { seed } from "./seed.ts";
import { openWorld } from "./store.ts";

/** A running demo service. */
export interface Demo {
  /** Where it listens, without `/api/v1`. */
  readonly url: string;
  /** Everybody it knew at the start, with the passwords and tokens that let them in; the last one is not active yet. */
  readonly users: readonly Pick<User, "username" | "password" | "token" | "isSuperuser" | "isActive">[];
  /** What was asked of it, such as `GET /api/v1/ada/mnist/jobs/1/`, in the order of arrival. */
  calls(): string[];
  /** Empties the list of calls. */
  forget(): void;
  close(): Promise<void>;
}

export interface DemoOptions {
  /** 0 (the default) takes any free port. */
  readonly port?: number;
  /** Milliseconds since 1970. Everything that moves by itself moves with it. */
  readonly now?: () => number;
  /** False leaves out what is not in the service's document. */
  readonly lists?: boolean;
}

/** Starts the service on the loopback interface, with a state of its own. */
export async function startDemo({ port = 0, now = Date.now, lists = true }: DemoOptions = {}): Promise<Demo> {
  const world = openWorld(now);
  seed(world);
  const users = [...world.users.values()].map(({ username, password, token, isSuperuser, isActive }) => {
    return { username, password, token, isSuperuser, isActive };
  });
  const dispatch = createDispatch(lists ? [...routes, ...listRoutes] : routes);
  let calls: string[] = [];

  async function answer(request: IncomingMessage): Promise<Answer> {
    const { method = "GET", url = "/", headers } = request;
    const [path = "/"] = url.split("?", 1);
    const bytes = await readBody(request);
    const destination = dispatch(method, path);
    if (destination.kind === "unknown path")
      return method === "GET" ? htmlPage(404, "Not found") : empty(405);
    if (destination.kind === "wrong method") return json(405, { detail: `Method "${method}" not allowed.` });
    settle(world);
    return destination.handler({
      world,
      caller: authenticate(world, headers.authorization),
      params: destination.params,
      query: new URLSearchParams(url.slice(path.length)),
      address: `http://${headers.host ?? "localhost"}${path}`,
      headers,
      body: () => decodeBody(bytes, headers["content-type"]),
    });
  }

  const server = createServer((request, response) => {
    calls.push(`${request.method} ${request.url}`);
    void answer(request)
      .catch((fault: unknown) => answerFault(request, fault))
      .then((answered) => send(response, answered));
  });
  // A caller's pool must not find a connection closed that it is about to use.
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
  });
  // A server that listens on a port has an address of this kind.
  const address = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${address.port}`,
    users,
    calls: () => [...calls],
    forget: () => {
      calls = [];
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function htmlPage(status: number, title: string): Answer {
  return {
    status,
    headers: { "content-type": "text/html; charset=utf-8" },
    body: `<!DOCTYPE html>\n<html>\n<head>\n    <title>${title}</title>\n</head>\n<body>${title}</body>\n</html>\n`,
  };
}

/** A refusal says why; our own slip looks like a crash of a real server. */
function answerFault({ method }: IncomingMessage, fault: unknown): Answer {
  if (fault instanceof Refusal) return json(fault.status, fault.body);
  return method === "GET" ? htmlPage(500, "Server error") : empty(405);
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.statusCode = status;
  response.setHeaders(new Map(Object.entries(headers)));
  if (typeof body === "string" || Buffer.isBuffer(body)) response.end(body);
  else pipeline(body, response, () => {});
}
