import { describe, expect, test, vi } from "vitest";
import { CallerRegistry } from "../../src/callers/callers.ts";
import { MemoryBudget } from "../../src/callers/memory-budget.ts";
import { RequestScope } from "../../src/callers/request-scope.ts";
import { SharedRead } from "../../src/rest/session/shared-read.ts";
import { startFake, type FakeResponse } from "../support/fake.ts";
import { reaches } from "../support/metrics.ts";
import { latch } from "../support/latch.ts";
import { type Answer, RELEASE_04, startBefore, startGateway } from "../support/gateway.ts";
import { startDelayedRecords } from "../support/delayed-service.ts";
import {
  ASK_STATUS,
  askFor,
  experimentIn,
  firstCodeOf,
  jsonText,
  recordTextOf,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  STATUS_CALL,
  statusesOf,
  statusOf,
} from "../support/one-read.ts";
import { LONG_TIMEOUT, withDeadline } from "../support/long-timeout.ts";
import { joined } from "../support/sharing.ts";
import { post } from "../support/raw-requests.ts";

/** How the reads of an explained operation were served. */
interface Explained extends Answer<unknown> {
  readonly extensions: { readonly explain: { readonly reads: Readonly<Record<string, number>> } };
}

const STATUS_FIELD = `experiment(id: "ada.mnist.42") { status }`;

const times = <Value>(count: number, make: (round: number) => Value): Value[] =>
  Array.from({ length: count }, (_, round) => make(round));

describe("concurrent equal operations of one token", () => {
  const RECORD = { json: RUNNING_RECORD };
  const TAIL = `{ job(id: "ada.mnist.jobs.3") { logs(tailLines: 1) { text } } }`;
  const TAIL_ANSWER = { data: { job: { logs: { text: "two\n" } } } };

  test.each<[string, string, FakeResponse, object, string]>([
    ["one upstream request", ASK_STATUS, RECORD, RUNNING_ANSWER, STATUS_CALL],
    ["the window of a log", TAIL, { text: "one\ntwo\n" }, TAIL_ANSWER, "GET ada/mnist/jobs/3/logs"],
  ])("share %s", async (_, query, reported, answer, call) => {
    const answered = latch();
    const { service, ...gateway } = await startBefore(async () => {
      await answered.opened;
      return reported;
    });
    const answers = times(20, () => askFor(gateway, query));
    await joined(gateway, 19);
    answered.open();
    expect(await Promise.all(answers)).toEqual(times(20, () => answer));
    expect(service.calls()).toEqual([call]);
  });

  test("share batched lists and any other equal reads", async () => {
    const answered = latch();
    const { service, ...gateway } = await startBefore(async ({ path }) => {
      await answered.opened;
      const results = [1, 2].map((id) => ({ id, last_status: "running" }));
      return { json: path.includes("query=") ? { count: 2, next: null, results } : RUNNING_RECORD };
    }, RELEASE_04);
    const two = `a: experiment(id: "ada.mnist.1") { status } b: experiment(id: "ada.mnist.2") { status }`;
    const answers = [`{ ${two} }`, `{ ${two} c: job(id: "ada.mnist.jobs.42") { status } }`].map((query) =>
      askFor(gateway, query),
    );
    await joined(gateway, 1);
    answered.open();
    const [running, all] = [{ status: "RUNNING" }, await Promise.all(answers)];
    expect(all).toEqual([
      { data: { a: running, b: running } },
      { data: { a: running, b: running, c: running } },
    ]);
    expect(service.calls()).toEqual([
      "GET ada/mnist/experiments?query=id%3A1%7C2&limit=100",
      "GET ada/mnist/jobs/42/",
    ]);
  });

  test("do not wait for an operation with no-cache", async () => {
    const service = await startDelayedRecords();
    const gateway = await startGateway({ upstream: service });
    const fresh = gateway.ask(ASK_STATUS, {}, { headers: { "cache-control": "no-cache" }, token: "t0ken" });
    await service.arrived(1);
    const other = askFor(gateway);
    await service.arrived(2);
    service.release();
    expect(await Promise.all([fresh, other])).toEqual([RUNNING_ANSWER, RUNNING_ANSWER]);
  });

  test("share an error, but later operations send a new request", async () => {
    const answered = latch();
    const { service, ...gateway } = await startBefore(async () => {
      await answered.opened;
      return { json: { detail: "Out of order." }, status: 500 };
    });
    const answers = times(4, () => askFor(gateway));
    await joined(gateway, 3);
    answered.open();
    expect((await Promise.all(answers)).map(firstCodeOf)).toEqual(times(4, () => "UPSTREAM_ERROR"));
    expect(firstCodeOf(await askFor(gateway))).toBe("UPSTREAM_ERROR");
    expect(service.calls()).toEqual([STATUS_CALL, STATUS_CALL]);
  });

  test("charge the response bytes once, until the last operation has ended", async () => {
    const [shared, slow, last] = [latch(), latch(), latch()];
    const service = await startFake(async ({ path }) => {
      const id = experimentIn(path);
      if (id === 42) await shared.opened;
      if (id === 2) await slow.opened;
      if (id === 4) await last.opened;
      return jsonText(recordTextOf(id === 2 ? 100 : 60_000));
    });
    const gateway = await startGateway({ upstream: service, env: { MAX_UPSTREAM_BYTES: "100000" } });
    const short = times(3, () => askFor(gateway));
    await joined(gateway, 2);
    const long = askFor(gateway, `{ a: ${STATUS_FIELD} b: experiment(id: "ada.mnist.2") { status } }`);
    await joined(gateway, 3);
    shared.open();
    expect((await Promise.all(short)).map(firstCodeOf)).toEqual(["ok", "ok", "ok"]);
    expect(firstCodeOf(await askFor(gateway, statusOf(3)))).toBe("REQUEST_LIMIT_EXCEEDED");
    slow.open();
    const other = askFor(gateway, statusOf(4));
    expect(firstCodeOf(await long)).toBe("ok");
    expect(firstCodeOf(await askFor(gateway, statusOf(3)))).toBe("ok");
    last.open();
    expect(firstCodeOf(await other)).toBe("ok");
  });
});

const STOPPED = { experiment: { status: "STOPPED" } };

test("releases a response's bytes when all readers leave before parsing", async () => {
  const callers = new CallerRegistry();
  const identity = { caller: callers.of("t0ken", "192.0.2.1"), requestId: "1", trace: null };
  const scope = new RequestScope(identity, Number.POSITIVE_INFINITY);
  const memoryBudget = new MemoryBudget(1_000_000, callers);
  const reservation = memoryBudget.open(scope);
  const parsed = latch();
  const read = {
    requester: { reservation, lifetime: scope },
    priority: 1,
    resolve: () => {},
    target: { window: null },
    context: { client: { read: () => parsed.opened, cancel: () => {} }, shared: null },
  } as unknown as Parameters<SharedRead["join"]>[0];
  const entry = new SharedRead(read, true, 0);
  entry.dispatch();
  entry.chargeMemory(60_000);
  scope.end("disconnected");
  entry.leave(read);
  expect(memoryBudget.quota.taken).toBe(60_000);
  parsed.open();
  await vi.waitUntil(() => memoryBudget.quota.taken === 0, LONG_TIMEOUT);
});

test.each([
  ["a command", 200, STOPPED, [STATUS_CALL, STATUS_CALL]],
  ["a failed command with an unknown outcome", 500, null, [STATUS_CALL]],
])("a read after %s does not share an older read in flight", async (_, status, payload, reads) => {
  const blocked = latch();
  let isStopped = false;
  const service = await startFake(async ({ method }) => {
    const json = { id: 42, last_status: isStopped ? "stopped" : "running" };
    if (method === "POST") isStopped = true;
    else if (!isStopped) await blocked.opened;
    return { json, status: method === "POST" ? status : 200 };
  });
  const gateway = await startGateway({ upstream: service });
  const before = askFor(gateway);
  await vi.waitUntil(() => service.seen().length === 1, LONG_TIMEOUT);
  const stop = `mutation { stopExperiment(id: "ada.mnist.42", force: true) { experiment { status } } }`;
  expect((await askFor(gateway, stop)).data).toEqual({ stopExperiment: payload });
  expect(await askFor(gateway)).toEqual({ data: STOPPED });
  blocked.open();
  expect(await before).toEqual(RUNNING_ANSWER);
  expect(service.inOrder()).toEqual([STATUS_CALL, "POST ada/mnist/experiments/42/stop", ...reads]);
});

describe("an operation whose request other operations share", () => {
  const askUntil = (url: string, signal: AbortSignal) =>
    post(`${url}/graphql`, { query: ASK_STATUS }, {}, signal).catch(() => null);

  test("can end by disconnection, and the request continues for the others", async () => {
    const service = await startDelayedRecords();
    const gateway = await startGateway({ upstream: service, env: { EXPLAIN: "on" } });
    const leaving = new AbortController();
    const first = askUntil(gateway.url, leaving.signal);
    await service.arrived(1);
    const headers = { "x-rungraph-explain": "1" };
    const others = times(3, () => gateway.ask(ASK_STATUS, {}, { headers }));
    await joined(gateway, 3);
    leaving.abort();
    await first;
    await reaches(gateway, "rungraph_operations_running", 3);
    service.release();
    const answers = (await Promise.all(others)) as Explained[];
    expect(answers.map(({ data }) => ({ data }))).toEqual(times(3, () => RUNNING_ANSWER));
    expect(answers.map(({ extensions }) => extensions.explain.reads["joined"])).toEqual([1, 1, 1]);
    expect(service.seen()).toHaveLength(1);
  });

  test("can reach its request limit without limiting the others", async () => {
    const service = await startDelayedRecords();
    const gateway = await startGateway({
      upstream: service,
      env: { MAX_UPSTREAM_REQUESTS: "2", MAX_UPSTREAM_WIDTH: "1" },
    });
    const first = askFor(gateway, statusesOf([1, 2, 3]));
    await service.arrived(1);
    // All but the first request wait in the queue. The third will exceed the operation's limit.
    const others = [2, 3].map((id) => askFor(gateway, statusOf(id)));
    await joined(gateway, 2);
    const [answer, ...answers] = await service.releaseUntil([first, ...others]);
    expect(answer && firstCodeOf(answer)).toBe("REQUEST_LIMIT_EXCEEDED");
    expect(answers).toEqual([RUNNING_ANSWER, RUNNING_ANSWER]);
    expect(service.seen()).toHaveLength(3);
  });

  test("first sends the reads that other operations also await", async () => {
    const paths: string[] = [];
    const first = latch();
    const service = await startFake(async ({ path }) => {
      paths.push(path);
      if (paths.length === 1) await first.opened;
      return { json: { ...RUNNING_RECORD, id: Number(/(\d+)\/$/.exec(path)?.[1]) } };
    });
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_CONNECTIONS: "1" } });
    const heavy = askFor(gateway, statusesOf([1, 2, 3, 4, 5]));
    await vi.waitUntil(() => paths.length === 1, LONG_TIMEOUT);
    const light = askFor(gateway, statusOf(5));
    await joined(gateway, 1);
    first.open();
    expect((await Promise.all([heavy, light])).map(firstCodeOf)).toEqual(["ok", "ok"]);
    expect(paths.map((path) => Number(/(\d+)\/$/.exec(path)?.[1]))).toEqual([1, 5, 2, 3, 4]);
  });

  test("can reach its deadline, and its request continues for a later operation", () =>
    withDeadline(async (deadlineMs) => {
      const service = await startDelayedRecords();
      const gateway = await startGateway({
        upstream: service,
        env: { REQUEST_TIMEOUT_MS: `${deadlineMs}` },
      });
      const first = askFor(gateway);
      await service.arrived(1);
      const other = gateway.ask(ASK_STATUS);
      await joined(gateway, 1);
      expect(firstCodeOf(await first)).toBe("UPSTREAM_TIMEOUT");
      service.release();
      expect(await other).toEqual(RUNNING_ANSWER);
      expect(service.seen()).toHaveLength(1);
    }));
});
