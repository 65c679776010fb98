import { describe, expect, test, vi } from "vitest";
import { startFake, type FakeResponse } from "../support/fake.ts";
import { latch } from "../support/latch.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { fakeClock } from "../support/fake-clock.ts";
import {
  ASK_STATUS,
  askFor,
  experimentIn,
  firstCodeOf,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  STATUS_CALL,
  statusesOf,
  statusOf,
} from "../support/one-read.ts";
import { experimentId, FIRST_POLL } from "../support/live-service.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { subscribe } from "../support/subscriber.ts";
import { refusal } from "../support/throttling.ts";

const STALE_ANSWER = (ageSeconds: number) => ({
  ...RUNNING_ANSWER,
  extensions: { stale: [{ path: ["experiment"], ageSeconds }] },
});

/** Starts a service that responds until the test changes its response. */
async function startFailing(env: Record<string, string> = {}) {
  let trouble: ((path: string) => FakeResponse | Promise<FakeResponse>) | null = null;
  const service = await startFake(({ path, method }) => {
    if (trouble && method === "GET") return trouble(path);
    return { json: method === "GET" ? { ...RUNNING_RECORD, id: experimentIn(path) } : {} };
  });
  const { clock, advance, timers } = fakeClock();
  const gateway = await startGateway({
    upstream: service,
    clock,
    env: { STALE_MAX_AGE_MS: "60000", REQUEST_TIMEOUT_MS: "50000", ...env },
  });
  return { service, gateway, advance, timers, fail: (how: typeof trouble) => (trouble = how) };
}

const status = (code: number): FakeResponse => ({ json: { detail: "No." }, status: code });

describe("the last known response is returned", () => {
  test.each([
    ["refuses", refusal(100)],
    ["throttles without Retry-After", status(429)],
    ["is not ready", status(503)],
    ["fails", status(500)],
    ["responds with truncated JSON", { text: '{"id": 42, "last_st' }],
  ])("when the service %s", async (_, reported) => {
    const { service, gateway, advance, fail } = await startFailing();
    expect(await askFor(gateway)).toEqual(RUNNING_ANSWER);
    fail(() => reported);
    advance(12_001);
    expect(await askFor(gateway)).toEqual(STALE_ANSWER(13));
    expect(service.calls()).toEqual([STATUS_CALL, STATUS_CALL]);
  });

  test.each([
    ["misses", "50000"],
    ["meets", "300000"],
  ])("immediately while a read waits that %s its deadline of %s ms", async (_, REQUEST_TIMEOUT_MS) => {
    const env = { UPSTREAM_RATE_LIMIT: "2/60", REQUEST_TIMEOUT_MS };
    const { service, gateway, advance, fail } = await startFailing(env);
    expect(await askFor(gateway)).toEqual(RUNNING_ANSWER);
    advance(1_000);
    expect(await askFor(gateway)).toEqual(STALE_ANSWER(1));
    fail(() => status(404));
    expect(service.calls()).toEqual([STATUS_CALL]);
  });

  test("immediately while another read tests the limit after a 429", async () => {
    const blocked = latch();
    const { service, gateway, advance, timers, fail } = await startFailing();
    expect(await askFor(gateway)).toEqual(RUNNING_ANSWER);
    fail(() => refusal(1));
    const reading = askFor(gateway, statusOf(7));
    await vi.waitUntil(() => timers().includes(1_000), LONG_TIMEOUT);
    fail(() => blocked.opened.then(() => ({ json: { ...RUNNING_RECORD, id: 7 } })));
    advance(1_000);
    await vi.waitUntil(() => service.seen().length === 3, LONG_TIMEOUT);
    expect(await askFor(gateway)).toEqual(STALE_ANSWER(1));
    blocked.open();
    expect(firstCodeOf(await reading)).toBe("ok");
    expect(service.seen()).toHaveLength(3);
  });

  test("except when the gateway itself is overloaded", async () => {
    const blocked = latch();
    const { gateway, fail } = await startFailing({ UPSTREAM_CONNECTIONS: "1", UPSTREAM_QUEUE: "1" });
    await askFor(gateway);
    fail(() => blocked.opened.then(() => status(404)));
    const asked = [askFor(gateway, statusesOf([1, 2, 3, 4, 5])), askFor(gateway)];
    expect(firstCodeOf(await Promise.race(asked))).toBe("SERVICE_OVERLOADED");
    blocked.open();
    await Promise.all(asked);
  });

  test("for up to STALE_MAX_AGE_MS", async () => {
    const { gateway, advance, fail } = await startFailing();
    await askFor(gateway);
    fail(() => status(503));
    advance(60_000);
    expect(await askFor(gateway)).toEqual(STALE_ANSWER(60));
    advance(1);
    expect(firstCodeOf(await askFor(gateway))).toBe("UPSTREAM_UNAVAILABLE");
  });

  test("beside new responses, and its paths are reported", async () => {
    const { gateway, fail } = await startFailing();
    const query = `{
      a: experiment(id: "ada.mnist.1") { status }
      b: experiment(id: "ada.mnist.2") { status jobs(first: 1) { totalCount } }
    }`;
    const first = `{ experiment(id: "ada.mnist.2") { status } }`;
    expect(firstCodeOf(await askFor(gateway, first))).toBe("ok");
    fail((path) =>
      experimentIn(path) === 2 && !path.includes("jobs")
        ? status(503)
        : { json: { ...RUNNING_RECORD, id: 1, count: 0, results: [] } },
    );
    expect(await askFor(gateway, query)).toEqual({
      data: {
        a: { status: "RUNNING" },
        b: { status: "RUNNING", jobs: { totalCount: 0 } },
      },
      extensions: { stale: [{ path: ["b"], ageSeconds: 0 }] },
    });
  });

  test("from a list of several records, and their paths are reported", async () => {
    const { service, gateway, fail } = await startFailing({ UPSTREAM_PROFILE: "polyaxon-0.4" });
    const results = [7, 8].map((id) => ({ id, unique_name: `ada.mnist.${id}`, last_status: "running" }));
    const query = `{
      a: buildJob(id: "ada.mnist.builds.7") { status }
      b: buildJob(id: "ada.mnist.builds.8") { status }
    }`;
    const data = { a: { status: "RUNNING" }, b: { status: "RUNNING" } };
    fail(() => ({ json: { count: 2, next: null, results } }));
    expect(await askFor(gateway, query)).toEqual({ data });
    fail(() => status(503));
    expect(await askFor(gateway, query)).toEqual({
      data,
      extensions: { stale: ["a", "b"].map((path) => ({ path: [path], ageSeconds: 0 })) },
    });
    const list = "GET ada/mnist/builds?query=id%3A7%7C8&limit=100";
    expect(service.calls()).toEqual([list, list]);
  });

  test("with the age of the oldest of the responses at a path", async () => {
    const { gateway, advance, fail } = await startFailing();
    const query = `{ experiment(id: "ada.mnist.42") { metricSeries { totalPoints } } }`;
    const pages: Record<"first" | "second", boolean> = { first: true, second: true };
    const link = "http://service/api/v1/ada/mnist/experiments/42/metrics?offset=1";
    fail((path) => {
      const isFirst = !path.includes("offset");
      if (!pages[isFirst ? "first" : "second"]) return status(503);
      const results = [{ id: isFirst ? 1 : 2, created_at: "2026-01-01T00:00:00Z", values: { loss: 1 } }];
      return { json: { count: 2, next: isFirst ? link : null, results } };
    });
    const data = { experiment: { metricSeries: [{ totalPoints: 2 }] } };
    expect(await askFor(gateway, query)).toEqual({ data });
    for (const [failing, ageSeconds] of [
      [["first"], 10],
      [["first", "second"], 20],
    ] as const) {
      for (const page of failing) pages[page] = false;
      advance(10_000);
      const stale = [{ path: ["experiment", "metricSeries"], ageSeconds }];
      expect(await askFor(gateway, query)).toEqual({ data, extensions: { stale } });
    }
  });

  test("with at most 500 reported paths, or fewer if aliases are long", async () => {
    const { service, gateway, fail } = await startFailing({ UPSTREAM_PROFILE: "polyaxon-0.4" });
    const results = Array.from({ length: 500 }, (_, index) => ({
      id: index + 1,
      unique_name: `ada.mnist.${index + 1}`,
      build_job: "ada.mnist.builds.7",
    }));
    const answer = (path: string): FakeResponse => ({
      json: path.includes("builds") ? { id: 7, last_status: "running" } : { count: 500, next: null, results },
    });
    fail(answer);
    const query = (alias: string) => `{
      ${alias}: project(id: "ada.mnist") { experiments(first: 500) { nodes { buildJob { status } } } }
      one: buildJob(id: "ada.mnist.builds.7") { status }
    }`;
    const reported = async (alias: string) => {
      const { extensions } = (await askFor(gateway, query(alias))) as unknown as {
        extensions?: { stale: readonly { path: readonly unknown[] }[] };
      };
      return extensions?.stale;
    };
    expect(await reported("all")).toBeUndefined();
    fail((path) => (path.includes("builds") ? status(503) : answer(path)));
    const places = await reported("all");
    expect(places).toHaveLength(500);
    expect(places?.[499]?.path).toEqual(["all", "experiments", "nodes", 498, "buildJob"]);
    expect(service.seen().length).toBe(4);
    expect((await reported("a".repeat(10_000)))?.length).toBe(10);
  });
});

describe("no earlier response is returned", () => {
  test("in subscription events, which do not report staleness", async () => {
    const { gateway, advance, fail } = await startFailing();
    const answer = (path: string): FakeResponse => ({
      json: { ...RUNNING_RECORD, build_job: "ada.mnist.builds.7", id: path.includes("builds") ? 7 : 42 },
    });
    fail(answer);
    const watch = () =>
      subscribe(gateway.url, {
        query: `subscription ($id: ID!) {
          runUpdated(id: $id) { run { status ... on Experiment { buildJob { status } } } }
        }`,
        variables: { id: experimentId(42) },
      });
    const first = await watch();
    advance(FIRST_POLL);
    const run = { status: "RUNNING", buildJob: { status: "RUNNING" } };
    expect(await first.next()).toEqual({ data: { runUpdated: { run } } });
    fail((path) => (path.includes("builds") ? status(503) : answer(path)));
    // A later subscriber receives the current state at once.
    const second = await (await watch()).next();
    expect(second?.data).toEqual({ runUpdated: { run: { ...run, buildJob: null } } });
    expect(second?.errors?.map(({ extensions }) => extensions["code"])).toEqual(["UPSTREAM_UNAVAILABLE"]);
  });

  test.each([401, 403, 404, 409])("instead of or after a response with status %i", async (code) => {
    const { gateway, fail } = await startFailing();
    await askFor(gateway);
    fail(() => status(code));
    const { errors } = await askFor(gateway);
    expect(errors).toHaveLength(1);
    fail(() => status(503));
    expect(firstCodeOf(await askFor(gateway))).toBe("UPSTREAM_UNAVAILABLE");
  });

  const stop = `mutation { stopExperiment(id: "ada.mnist.42", force: true) { experiment { id } } }`;

  test.each<[string, Record<string, string>, (gateway: Gateway) => ReturnType<Gateway["ask"]>]>([
    ["by default", { STALE_MAX_AGE_MS: "" }, (gateway) => askFor(gateway)],
    ["to another token", {}, (gateway) => askFor(gateway, ASK_STATUS, "another")],
    [
      "to a caller with no-cache",
      {},
      (gateway) => gateway.ask(ASK_STATUS, {}, { headers: { "cache-control": "no-cache" } }),
    ],
    [
      "after a command of the token",
      {},
      async (gateway) => {
        await askFor(gateway, stop);
        return askFor(gateway);
      },
    ],
  ])("%s", async (_, env, ask) => {
    const { gateway, fail } = await startFailing(env);
    await askFor(gateway);
    fail(() => status(503));
    expect(firstCodeOf(await ask(gateway))).toBe("UPSTREAM_UNAVAILABLE");
  });
});

test("a response is not reported as stale within CACHE_TTL_MS", async () => {
  const { service, gateway, advance } = await startFailing({ CACHE_TTL_MS: "5000" });
  const ask = (): ReturnType<Gateway["ask"]> => askFor(gateway);
  await ask();
  advance(5_000);
  expect(await ask()).toEqual(RUNNING_ANSWER);
  expect(service.calls()).toEqual([STATUS_CALL]);
  advance(1);
  expect(await ask()).toEqual(RUNNING_ANSWER);
  expect(service.calls()).toEqual([STATUS_CALL, STATUS_CALL]);
});
