import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startFake, startRecords } from "../support/fake.ts";
import { latch } from "../support/latch.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { globalId } from "../support/ids.ts";
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
  statusOf,
} from "../support/one-read.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { sharedReads } from "../support/sharing.ts";

/** Starts a gateway with a cache of two seconds, and a fake clock. */
async function startKeeping(upstream: { readonly url: string }, env: Record<string, string> = {}) {
  const { clock, advance } = fakeClock();
  const gateway = await startGateway({ upstream, clock, env: { CACHE_TTL_MS: "2000", ...env } });
  return { gateway, advance };
}

async function askViewer(gateway: Gateway, times: number): Promise<void> {
  const headers = { authorization: "token t0ken", "cache-control": "no-cache" };
  for (let time = 0; time < times; time++) await gateway.ask("{ viewer { username } }", {}, { headers });
}

const startRunning = () => startFake(({ path }) => ({ json: { ...RUNNING_RECORD, id: experimentIn(path) } }));

const codesOf = async (gateway: Gateway, ...queries: readonly string[]) => {
  const codes: string[] = [];
  for (const query of queries) codes.push(firstCodeOf(await askFor(gateway, query)));
  return codes;
};

describe("an upstream response", () => {
  test("is cached for CACHE_TTL_MS from the start of its request", async () => {
    const service = await startRunning();
    const { gateway, advance } = await startKeeping(service);
    expect(await askFor(gateway)).toEqual(RUNNING_ANSWER);
    advance(2_000);
    expect(await askFor(gateway)).toEqual(RUNNING_ANSWER);
    expect(service.calls()).toEqual([STATUS_CALL]);
    expect(await sharedReads(gateway, "kept")).toBe(1);
    advance(1);
    expect(await askFor(gateway)).toEqual(RUNNING_ANSWER);
    expect(service.calls()).toEqual([STATUS_CALL, STATUS_CALL]);
  });

  test("is not cached when it took longer than CACHE_TTL_MS", async () => {
    const { clock, advance } = fakeClock();
    const service = await startFake(() => {
      advance(2_001);
      return { json: RUNNING_RECORD };
    });
    const gateway = await startGateway({ upstream: service, clock, env: { CACHE_TTL_MS: "2000" } });
    expect(await codesOf(gateway, ASK_STATUS, ASK_STATUS)).toEqual(["ok", "ok"]);
    expect(service.calls()).toEqual([STATUS_CALL, STATUS_CALL]);
  });

  test.each([
    [401, { detail: "Invalid token." }],
    [403, { detail: "Not allowed." }],
    [404, { detail: "Not found." }],
    [500, {}],
  ])("with error status %i is not cached", async (status, json) => {
    const service = await startFake(() => ({ json, status }));
    const { gateway } = await startKeeping(service);
    await codesOf(gateway, ASK_STATUS, ASK_STATUS);
    expect(service.calls()).toEqual([STATUS_CALL, STATUS_CALL]);
  });

  test.each([
    ["a read", ["GET ada/mnist/experiments/1/"], (gateway: Gateway) => codesOf(gateway, statusOf(1))],
    ["no user is signed in", ["GET users/"], (gateway: Gateway) => askViewer(gateway, 1)],
    ["another user is signed in", ["GET users/", "GET users/"], (gateway: Gateway) => askViewer(gateway, 2)],
    [
      "a download",
      ["GET ada/mnist/experiments/1/logs/"],
      ({ url }: Gateway) =>
        fetch(`${url}/downloads/${globalId("Experiment:ada/mnist/1")}/logs`, {
          headers: { authorization: "token t0ken" },
        }),
    ],
  ])("is evicted when the service rejects the token: %s", async (_, rejected, ask) => {
    const names = rejected.length === 1 ? [""] : ["ada", "grace"];
    const service = await startFake(({ path }) =>
      experimentIn(path) === 42
        ? { json: RUNNING_RECORD }
        : path.endsWith("/users/")
          ? { json: { username: names.shift() } }
          : { json: { detail: "Invalid token." }, status: 401 },
    );
    const { gateway } = await startKeeping(service);
    expect(await codesOf(gateway, ASK_STATUS)).toEqual(["ok"]);
    await ask(gateway);
    // The request of another caller arrives at the time when the gateway would forget the current caller.
    vi.spyOn(performance, "now").mockReturnValue(performance.now() + 700_000);
    onTestFinished(() => void vi.restoreAllMocks());
    await gateway.ask("{ __typename }", {}, { headers: { authorization: "token bob" } });
    expect(await codesOf(gateway, ASK_STATUS)).toEqual(["ok"]);
    expect(service.calls()).toEqual([...rejected, STATUS_CALL, STATUS_CALL].toSorted());
  });

  test("is cached five times longer for clusters, machines and ended runs", async () => {
    const service = await startRecords({
      "cluster/": { version_api: {}, nodes: [{ sequence: 2, name: "node-2" }] },
      "nodes/2": { sequence: 2, name: "node-2", kubelet_version: "v1" },
      "ada/mnist/builds/1/": { id: 1, last_status: "succeeded", finished_at: "2026-06-01T12:00:00Z" },
      "ada/mnist/builds/2/": { id: 2, last_status: "running", finished_at: null },
    });
    const { gateway, advance } = await startKeeping(service);
    const all = `{
      cluster { id } node(id: "node-2") { kubeletVersion }
      ended: buildJob(id: "ada.mnist.builds.1") { status } running: buildJob(id: "ada.mnist.builds.2") { status }
    }`;
    expect(await codesOf(gateway, all)).toEqual(["ok"]);
    const once = service.calls();
    expect(once).toHaveLength(4);
    advance(10_000);
    expect(await codesOf(gateway, all)).toEqual(["ok"]);
    expect(service.calls()).toEqual([...once, "GET ada/mnist/builds/2/"].toSorted());
    advance(1);
    expect(await codesOf(gateway, all)).toEqual(["ok"]);
    expect(service.calls()).toHaveLength(8);
  });

  test("is evicted as the least recently used if CACHE_BYTES is exceeded", async () => {
    const service = await startFake(() => jsonText(recordTextOf(20_000)));
    const { gateway } = await startKeeping(service, { CACHE_BYTES: "50000" });
    const [one, two, three] = [1, 2, 3].map(statusOf) as [string, string, string];
    await codesOf(gateway, one, two, one, three, one);
    expect(service.inOrder()).toEqual([1, 2, 3].map((id) => `GET ada/mnist/experiments/${id}/`));
    await codesOf(gateway, two);
    expect(service.seen()).toHaveLength(4);
  });
});

describe("a caller's Cache-Control", () => {
  test.each([
    ["no-cache", 2],
    ["max-age=0, No-Cache, no-store", 2],
    ["max-age=60, no-cached", 1],
  ])("%s returns version %d, and later operations get nothing older", async (value, newer) => {
    let round = 0;
    const service = await startFake(() => {
      round++;
      return { json: { ...RUNNING_RECORD, description: `version ${round}` } };
    });
    const { gateway } = await startKeeping(service);
    const version = async (headers = {}) =>
      (await gateway.ask(ASK_STATUS.replace("status", "description"), {}, { headers })).data;
    const versionOf = (number: number) => ({ experiment: { description: `version ${number}` } });
    expect(await version()).toEqual(versionOf(1));
    expect(await version({ "cache-control": value })).toEqual(versionOf(newer));
    expect(await version()).toEqual(versionOf(newer));
    expect(service.seen()).toHaveLength(newer);
  });

  test("no-cache is not undone by an older request that completes later", async () => {
    const first = latch();
    let round = 0;
    const service = await startFake(async () => {
      const version = ++round;
      if (version === 1) await first.opened;
      return { json: { ...RUNNING_RECORD, last_status: version === 1 ? "running" : "succeeded" } };
    });
    const { gateway } = await startKeeping(service);
    const older = askFor(gateway);
    await vi.waitUntil(() => round === 1, LONG_TIMEOUT);
    const succeeded = { data: { experiment: { status: "SUCCEEDED" } } };
    const headers = { "cache-control": "no-cache" };
    expect(await gateway.ask(ASK_STATUS, {}, { headers })).toEqual(succeeded);
    first.open();
    expect(await older).toEqual(RUNNING_ANSWER);
    expect(await askFor(gateway)).toEqual(succeeded);
    expect(service.seen()).toHaveLength(2);
  });
});
