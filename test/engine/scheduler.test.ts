import { setImmediate as tick } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { MCP_HEADERS, rpc } from "../support/agent.ts";
import { CallerRegistry } from "../../src/callers/callers.ts";
import { RequestScope } from "../../src/callers/request-scope.ts";
import { publicError } from "../../src/engine/errors.ts";
import { afterPendingIo, Scheduler } from "../../src/engine/scheduler.ts";
import { yieldToEventLoop } from "../../src/util/event-loop.ts";
import { InputError } from "../../src/errors.ts";
import { startDemoGateway, startDemoService } from "../support/demo-gateway.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { reaches } from "../support/metrics.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { stopwatchRuns } from "../support/stopwatch.ts";
import { openSocket } from "../support/admission.ts";
import { post } from "../support/raw-requests.ts";

const DOCUMENTS = 40;

/** Creates a valid subscription, a different one for each number. */
const subscription = (number: number) => `subscription S${number} { runUpdated(id: "no id") { reason } }`;
const query = (number: number) => `query Q${number} { gateway { version } }`;

/** Sends documents concurrently, and calls back for each response. */
type Permit = (
  gateway: Pick<Gateway, "url">,
  numbers: readonly number[],
  answered: (text: string) => void,
) => Promise<void>;

async function subscribeAll(
  { socket, sendMessage }: Awaited<ReturnType<typeof openSocket>>,
  numbers: readonly number[],
  answered: (text: string) => void,
): Promise<void> {
  let count = 0;
  const all = new Promise<void>((resolve) => {
    socket.on("message", (message: Buffer) => {
      answered(message.toString());
      if (++count === numbers.length) resolve();
    });
  });
  for (const number of numbers)
    sendMessage({ type: "subscribe", id: `${number}`, payload: { query: subscription(number) } });
  await all;
}

const webSocket =
  (token: string): Permit =>
  async (gateway, numbers, answered) =>
    subscribeAll(await openSocket(gateway, { token }), numbers, answered);

/** Transports that accept a request for each document. */
const http =
  (send: (url: string, number: number) => Promise<Response>): Permit =>
  async ({ url }, numbers, answered) => {
    await Promise.all(numbers.map(async (number) => answered(await (await send(url, number)).text())));
  };

const EVENTS = { accept: "text/event-stream" };
const calling = (number: number) => ({ name: "graphql_query", arguments: { query: query(number) } });

const DOORS: readonly (readonly [name: string, permit: Permit])[] = [
  ["a WebSocket", webSocket("heavy")],
  ["POST", http((url, number) => post(`${url}/graphql`, { query: query(number) }))],
  ["GET", http((url, number) => fetch(`${url}/graphql?query=${encodeURIComponent(query(number))}`))],
  ["event streams", http((url, number) => post(`${url}/graphql`, { query: subscription(number) }, EVENTS))],
  ["/mcp", http((url, number) => post(`${url}/mcp`, rpc("tools/call", calling(number)), MCP_HEADERS))],
];

test.each(DOORS)("documents that arrive together are parsed over several ticks: %s", async (_name, send) => {
  const gateway = await startDemoGateway();
  // The first request loads modules that are imported lazily.
  await send(gateway, [DOCUMENTS], () => {});
  stopwatchRuns();
  let inThisTick = 0;
  let most = 0;
  const counting = new AbortController();
  const count = async () => {
    for (; !counting.signal.aborted; inThisTick = 0) await tick();
  };
  const counted = count();
  const numbers = [...Array(DOCUMENTS).keys()];
  await send(gateway, numbers, () => (most = Math.max(most, ++inThisTick)));
  counting.abort();
  await counted;
  expect(most).toBeLessThan(DOCUMENTS / 4);
});

test("a document is not parsed after its deadline", async () => {
  const gateway = await startDemoGateway({ env: { REQUEST_TIMEOUT_MS: "1" } });
  stopwatchRuns();
  const numbers = [...Array(200).keys()];
  const codes = new Set<unknown>();
  await webSocket("heavy")(gateway, numbers, (text) => {
    const { payload } = JSON.parse(text) as { payload: { extensions: { code: string } }[] };
    codes.add(payload[0]?.extensions.code);
  });
  expect([...codes]).toContain("SERVICE_OVERLOADED");
  await reaches(gateway, "rungraph_operations_running", 0);
});

test("callers of one gateway do not delay another gateway in the process", async () => {
  const demo = await startDemoService();
  const [busy, other] = [await startGateway({ upstream: demo }), await startGateway({ upstream: demo })];
  const ofManySlices = "{ __schema { types { name } } }";
  await Promise.all([busy, other].map((gateway) => gateway.ask(ofManySlices)));
  const callers = Array.from({ length: 20 }, (_, number) => ({ token: `caller${number}` }));
  // Slowly opened connections would be closed while others are served.
  const opened = await Promise.all(callers.map((caller) => openSocket(busy, caller)));
  stopwatchRuns();
  const numbers = [...Array(15).keys()];
  let read = 0;
  const heavy = opened.map((connection) => subscribeAll(connection, numbers, () => read++));
  await vi.waitUntil(() => read > 0, LONG_TIMEOUT);
  await other.ask(ofManySlices);
  expect(read).toBeLessThan(200);
  await Promise.all(heavy);
});

test("a task that throws does not stop the other pending tasks", async () => {
  const done: string[] = [];
  const thrown = new Promise((resolve) => void process.once("uncaughtException", resolve));
  const problem = new Error("of the second one");
  afterPendingIo(() => done.push("first"));
  afterPendingIo(() => {
    throw problem;
  });
  afterPendingIo(() => done.push("third"));
  expect(await thrown).toBe(problem);
  await yieldToEventLoop();
  expect(done).toEqual(["first", "third"]);
});

test("each task waiting for the event loop continues in its own tick", async () => {
  const order: string[] = [];
  const waiting = ["first", "second"].map((name) => yieldToEventLoop().then(() => order.push(name)));
  await tick();
  await tick();
  order.push("others");
  await Promise.all(waiting);
  expect(order).toEqual(["first", "others", "second"]);
});

test("requests that need their own ticks get them, alternating between callers", async () => {
  const callers = new CallerRegistry();
  const scheduler = new Scheduler(callers);
  const order: string[] = [];
  const begin = (name: string, by: string) => {
    const identity = { caller: callers.of(by, "127.0.0.1"), requestId: name, trace: null };
    const scope = new RequestScope(identity, Infinity);
    const own = scheduler.ownTick(scope).then(() => void order.push(scope.ended ?? name));
    return { scope, own };
  };
  const all = ["first", "second", "third"].map((name) => begin(name, "many"));
  all.push(begin("light", "few"));
  all[1]?.scope.end("disconnected");
  const count = async (): Promise<void> => {
    for (let ticks = 0; ticks < 20; ticks++) {
      await tick();
      order.push("tick");
    }
  };
  const ticks = count();
  await Promise.all(all.map(({ own }) => own));
  await ticks;
  const taken = order.join(" ").replaceAll(/(?: tick)+/g, " |");
  expect(taken).toBe("disconnected first | light | third |");
});

test("microtasks of a task run before the next task of a slice", async () => {
  const callers = new CallerRegistry();
  const ticks = new Scheduler(callers);
  const done: string[] = [];
  for (const name of ["one", "other"])
    ticks.queueOf(callers.of(name, "127.0.0.1")).add(() => {
      done.push(name);
      void Promise.resolve().then(() => done.push(`after ${name}`));
    });
  await vi.waitUntil(() => done.length === 4, LONG_TIMEOUT);
  expect(done).toEqual(["one", "after one", "other", "after other"]);
});

test("a caller with long tasks runs after callers with short ones", async () => {
  const callers = new CallerRegistry();
  const ticks = new Scheduler(callers);
  stopwatchRuns();
  const done: string[] = [];
  const ask = (token: string, looks: number) => {
    const queue = ticks.queueOf(callers.of(token, "127.0.0.1"));
    for (const number of [1, 2, 3])
      queue.add(() => {
        done.push(`${token} ${number}`);
        // Each read of the clock advances it by ten milliseconds.
        for (let look = 0; look < looks; look++) performance.now();
      });
  };
  ask("heavy", 10);
  ask("light", 0);
  await vi.waitUntil(() => done.length === 6, LONG_TIMEOUT);
  expect(done).toEqual(["heavy 1", "light 1", "light 2", "light 3", "heavy 2", "heavy 3"]);
  done.length = 0;
  for (const token of ["heavy", "late"]) ask(token, 10);
  await vi.waitUntil(() => done.length === 6, LONG_TIMEOUT);
  expect(done).toEqual(["late 1", "heavy 1", "late 2", "heavy 2", "late 3", "heavy 3"]);
});

test("tasks of two callers alternate when each takes a time slice", async () => {
  const callers = new CallerRegistry();
  const scheduler = new Scheduler(callers);
  stopwatchRuns();
  const done: string[] = [];
  const run = (name: string) =>
    new Promise<string>((resolve, reject) => {
      const steps = function* () {
        for (const number of [1, 2, 3]) {
          done.push(`${name} ${number}`);
          yield number;
        }
        return name;
      };
      const goesOn = (number: number) => name !== "stopped" || number < 2;
      scheduler.runCooperatively(callers.of(name, "127.0.0.1"), steps, resolve, reject, goesOn);
    });
  const [one, , other] = ["one", "stopped", "other"].map(run);
  expect(await Promise.all([one, other])).toEqual(["one", "other"]);
  // The first step runs at once, because nothing waits.
  const begun = ["one 1", "one 2", "stopped 1", "other 1"];
  expect(done).toEqual([...begun, "one 3", "stopped 2", "other 2", "other 3"]);
});

test("errors sent to clients capture no stack trace", () => {
  const error = publicError(new InputError("id: expected a number"), () => {});
  expect([error.stack, new Error("another").stack?.includes("scheduler.test.ts")]).toEqual([
    "GraphQLError: id: expected a number",
    true,
  ]);
});
