import { once } from "node:events";
import { onTestFinished, vi } from "vitest";
import { WebSocket } from "ws";
import { MCP_HEADERS, rpc } from "./agent.ts";
import {
  AT_ONCE,
  LONG_FROM,
  type Message,
  type Outcome,
  outcomeOf,
  refusalIn,
  send,
  headersOf,
  type Who,
  type Fixture,
} from "./admission-fixture.ts";
import { globalId } from "./ids.ts";
import { FIRST_POLL, RUN_UPDATED } from "./live-service.ts";
import { LONG_TIMEOUT } from "./long-timeout.ts";
import { JSON_BODY, operationsIn } from "./raw-requests.ts";

/** How a caller uses its permit: `idle` sends nothing, `slow` does not read what it receives. */
export type Use = "active" | "idle" | "slow";

/** A request of a caller that needs a permit. */
export interface Visit {
  readonly outcome: Outcome;
  /** Ends in the usual way. */
  readonly finish: () => void;
  /** Disconnects. */
  readonly leave: () => void;
  /** Resolves when the connection is closed; for a WebSocket, with the close code. */
  readonly closed: Promise<unknown>;
}

/** Requests a permit. Resolves with the outcome. */
export type Enter = (fixture: Fixture, who: Who, use: Use) => Promise<Visit>;

const experiment = (id: number) => `experiment(id: "ada.mnist.${id}") { status description }`;

const read = (id: number) => `{ ${experiment(id)} }`;

/** A query with three payloads: one before the request for the experiment, one after it, and a last one that may also be long. */
const deferred = (id: number) =>
  `{ __typename ... @defer { first: ${experiment(id)} ... @defer { second: ${experiment(id < LONG_FROM ? AT_ONCE : id + 1)} } } }`;

const numberFor = (fixture: Fixture, use: Use) => fixture.next() + (use === "slow" ? LONG_FROM : 0);

/** Sends one request for an experiment whose response the service delays. */
const asking =
  (messageFor: (id: number) => Message): Enter =>
  async (fixture, who, use) => {
    const id = numberFor(fixture, use);
    const message = messageFor(id);
    // Node.js responds with 100 once it has the headers. The body is never sent.
    const waiting = {
      ...message,
      headers: { ...message.headers, expect: "100-continue", "content-length": "99" },
    };
    const { sent, response, closed } = send(fixture, who, use === "idle" ? waiting : message);
    const visit = { finish: () => fixture.release(id), leave: () => void sent.destroy(), closed };
    if (use === "idle") {
      sent.flushHeaders();
      await Promise.race([once(sent, "continue"), response]);
      return { ...visit, outcome: "in" };
    }
    sent.end(message.body);
    if (use === "slow") {
      const { statusCode } = await response;
      return { ...visit, outcome: statusCode === 429 || statusCode === 503 ? statusCode : "in" };
    }
    const outcome = await Promise.race([
      fixture.arrived(id).then((): Outcome => "in"),
      response.then(outcomeOf),
    ]);
    return { ...visit, outcome };
  };

const subscription = (id: number) =>
  // For callers that do not read, the events are long.
  ({
    query: id < LONG_FROM ? RUN_UPDATED : RUN_UPDATED.replace("uniqueName", "uniqueName description"),
    variables: { id: globalId(`Experiment:ada/mnist/${id}`) },
  });

/** Opens a request whose response begins immediately. */
const streaming =
  (messageFor: (id: number) => Message): Enter =>
  async (fixture, who, use) => {
    const id = numberFor(fixture, use);
    const message = messageFor(id);
    const { sent, response, closed } = send(fixture, who, message);
    sent.end(message.body);
    const finish = () => {
      fixture.release(id);
      fixture.advance(FIRST_POLL);
    };
    const visit = { finish, leave: () => void sent.destroy(), closed };
    // For a download with an invented token, the service has not responded yet, but the caller has its permit.
    const begun = await Promise.race([response, fixture.arrived(id)]);
    if (!begun) return { ...visit, outcome: "in" };
    if (begun.statusCode !== 200) return { ...visit, outcome: await outcomeOf(begun) };
    // The stream of a draining gateway ends without data.
    await new Promise<void>((resolve) => begun.once("readable", resolve).once("end", resolve));
    if (use !== "slow") begun.resume();
    return { ...visit, outcome: "in" };
  };

const graphql = (query: string, headers: Record<string, string> = {}): Message => ({
  path: "/graphql",
  headers,
  body: JSON.stringify({ query }),
});

const INCREMENTAL = { accept: "multipart/mixed" };
const EVENTS = { accept: "text/event-stream" };

/** Opens a connection that signs in with `connection_init`, as browsers do. Resolves when the connection is accepted or rejected. */
export async function openSocket({ url }: Pick<Fixture, "url">, who: Who, isInitialized = true) {
  const { token, byHeader = false } = who;
  const socket = new WebSocket(`${url.replace("http:", "ws:")}/graphql`, "graphql-transport-ws", {
    localAddress: who.from ?? "127.0.0.1",
    headers: headersOf(byHeader ? who : { ...who, token: null }),
  });
  onTestFinished(() => socket.terminate());
  const sendMessage = (message: object) => socket.send(JSON.stringify(message));
  const closed = new Promise<number>((resolve) => socket.on("error", () => {}).on("close", resolve));
  const outcome = await new Promise<Outcome>((resolve) => {
    socket.on("unexpected-response", (_, { statusCode = 0 }) => resolve(statusCode));
    socket.on("open", () => {
      // A connection that is closed as soon as it is open gets no pong.
      if (!isInitialized) return void socket.once("pong", () => resolve("in")).ping();
      sendMessage({ type: "connection_init", payload: headersOf({ token }) });
    });
    // The first message is the acknowledgement.
    socket.once("message", () => resolve("in"));
    void closed.then(resolve);
  });
  return { socket, sendMessage, closed, outcome };
}

type Opened = Awaited<ReturnType<typeof openSocket>>;

/** Subscribes over a connection. Resolves when the subscription is open or rejected, as the log shows. */
async function subscribeOver(fixture: Fixture, { sendMessage }: Opened, id: number): Promise<Outcome> {
  const operations = () => operationsIn(fixture.logged());
  const before = operations().length;
  sendMessage({ type: "subscribe", id: `${id}`, payload: subscription(id) });
  await vi.waitUntil(() => operations().length > before, LONG_TIMEOUT);
  return refusalIn(JSON.stringify(operations().at(-1)).replace('"codes":["', '"code":"'));
}

/** A subscription of a caller over this connection, which needs a permit. */
function visitOver({ socket, sendMessage, closed }: Opened, id: number, use: Use) {
  if (use === "slow") socket.pause();
  return {
    finish: () => sendMessage({ type: "complete", id: `${id}` }),
    leave: () => socket.terminate(),
    closed,
  };
}

/** Opens a connection. Subscribes unless the connection must be idle. */
const webSocket: Enter = async (fixture, who, use) => {
  const opened = await openSocket(fixture, who);
  const id = numberFor(fixture, use);
  const { outcome } = opened;
  if (outcome === "in" && use !== "idle" && who.token !== null) await subscribeOver(fixture, opened, id);
  return { outcome, ...visitOver(opened, id, use) };
};

/** The connection of each caller of each gateway. */
const CONNECTIONS = new Map<string, Opened>();

/** Subscribes over the only connection of a caller. */
const overSocket: Enter = async (fixture, who, use) => {
  const key = fixture.url + JSON.stringify(who);
  const known = CONNECTIONS.get(key);
  const isOpen = known?.socket.readyState === WebSocket.OPEN;
  const opened = known && isOpen ? known : await openSocket(fixture, who);
  CONNECTIONS.set(key, opened);
  const id = numberFor(fixture, use);
  const outcome = opened.outcome === "in" ? await subscribeOver(fixture, opened, id) : opened.outcome;
  return { outcome, ...visitOver(opened, id, use) };
};

/** A query with incremental delivery over a new connection. */
const incrementalOverSocket: Enter = async (fixture, who, use) => {
  const { socket, sendMessage, closed, outcome } = await openSocket(fixture, who);
  const id = numberFor(fixture, use);
  const visit = { finish: () => fixture.release(id), leave: () => socket.terminate(), closed };
  if (outcome !== "in" || use === "idle") return { ...visit, outcome };
  const refused = new Promise<Outcome>((resolve) => {
    socket.on("message", (message: Buffer) => {
      if (/"type":"(?:error|complete)"/.test(message.toString())) resolve(refusalIn(message.toString()));
    });
  });
  sendMessage({ type: "subscribe", id: `${id}`, payload: { query: deferred(id) } });
  return { ...visit, outcome: await Promise.race([fixture.arrived(id).then((): Outcome => "in"), refused]) };
};

/** The entry points by name. */
export const ENTER = {
  POST: asking((id) => graphql(read(id))),
  GET: asking((id) => ({ path: `/graphql?query=${encodeURIComponent(read(id))}` })),
  "incremental query": asking((id) => graphql(deferred(id), INCREMENTAL)),
  "incremental query by event stream": asking((id) => graphql(deferred(id), EVENTS)),
  "incremental query over a WebSocket": incrementalOverSocket,
  "/mcp": asking((id) => ({
    path: "/mcp",
    headers: MCP_HEADERS,
    body: rpc("tools/call", { name: "graphql_query", arguments: { query: read(id) } }),
  })),
  "a query that accepts event streams": asking((id) => graphql(read(id), EVENTS)),
  "sign-in": asking((id) =>
    graphql(`mutation { login(input: { username: "u${id}", password: "x" }) { token } }`),
  ),
  "event stream": streaming((id) => ({
    path: "/graphql",
    headers: { ...JSON_BODY, ...EVENTS },
    body: JSON.stringify(subscription(id)),
  })),
  "event stream by GET": streaming((id) => {
    const { query, variables } = subscription(id);
    const search = new URLSearchParams({ query, variables: JSON.stringify(variables) });
    return { path: `/graphql?${search.toString()}`, headers: EVENTS };
  }),
  download: streaming((id) => ({ path: `/downloads/${globalId(`Experiment:ada/mnist/${id}`)}/outputs` })),
  export: streaming((id) => ({ path: `/export/ada.${id}/runs.csv?columns=uniqueName,description` })),
  WebSocket: webSocket,
  "subscription over a WebSocket": overSocket,
} satisfies Record<string, Enter>;

export type EntryName = keyof typeof ENTER;
