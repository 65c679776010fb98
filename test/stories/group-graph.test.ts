import { describe, expect, test } from "vitest";
import { GroupGraphDocument } from "../generated/graphql.ts";
import { startDemoService, still, tokenOf } from "../support/demo-gateway.ts";
import { errorsOf } from "../support/errors.ts";
import { startFake, type Told } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { type ProfileName, startProfile } from "../support/profiles.ts";

const WIDE = { id: "ada.mnist.1" };

/** The experiments of the wide search: 20 have ended, 3 run and 46 found no machine. */
const RUNS = [...Array.from({ length: 20 }, (_, index) => 9 + index), 43, 44, 45, 46];

const GROUP = "GET ada/mnist/groups/1/";
const LIST = "GET ada/mnist/experiments?group=1&sort=created_at%2C-updated_at&limit=50";
const JOBS = RUNS.map((id) => `GET ada/mnist/experiments/${id}/jobs`);
const BUILDS = ["GET ada/mnist/builds/1/", "GET ada/mnist/builds/2/"];

describe("the group graph: a search, its 24 runs, their builds, jobs and machines", () => {
  test.each<ProfileName>(["polyaxon-0.4", "polyaxon-0.2"])("takes 29 requests with %s", async (profile) => {
    const { ask, calls } = await startProfile(profile);
    const { data, errors } = await ask(GroupGraphDocument, WIDE);
    expect(errors).toBeUndefined();
    expect(calls()).toEqual([GROUP, LIST, ...JOBS, ...BUILDS, "GET cluster/"].toSorted());

    const { experiments, ...group } = data.group ?? {};
    expect(group).toEqual({
      id: globalId("Group:ada/mnist/1"),
      uniqueName: "ada.mnist.1",
      status: "RUNNING",
      experimentCounts: { total: 24, running: 3, succeeded: 15, failed: 3 },
    });
    expect(experiments).toMatchObject({ totalCount: 24, pageInfo: { hasNextPage: false } });
    expect(experiments?.nodes.map(({ uniqueName }) => uniqueName)).toEqual(
      RUNS.map((id) => `ada.mnist.1.${id}`),
    );
    expect(experiments?.nodes[0]).toEqual({
      id: globalId("Experiment:ada/mnist/9"),
      uniqueName: "ada.mnist.1.9",
      status: "SUCCEEDED",
      declarations: [
        { name: "activation", value: "relu" },
        { name: "dropout", value: 0.25 },
        { name: "lr", value: 0.001 },
      ],
      latestMetrics: [
        { name: "accuracy", value: expect.any(Number) },
        { name: "loss", value: expect.any(Number) },
      ],
      buildJob: {
        id: globalId("BuildJob:ada/mnist/1"),
        uniqueName: "ada.mnist.builds.1",
        commit: expect.stringMatching(/^[0-9a-f]{40}$/),
      },
      jobs: {
        nodes: [
          {
            id: expect.any(String),
            role: "master",
            status: "SUCCEEDED",
            nodeScheduled: { id: expect.any(String), name: "node-1", memory: 33_657_483_264 },
          },
        ],
      },
    });
    expect(experiments?.nodes.at(-1)).toMatchObject({ status: "UNSCHEDULABLE", jobs: { nodes: [] } });
  });
});

/** The demo behind a throttle which lets so many requests pass, and the same demo without it. */
async function startThrottled(allowed: number) {
  const demo = await startDemoService({ now: still });
  const counts = { passed: 0, refused: 0 };
  const service = await startFake(async ({ path, headers }): Promise<Told> => {
    if (counts.passed >= allowed) {
      counts.refused++;
      return { json: { detail: "Request was throttled." }, status: 429, headers: { "retry-after": "4200" } };
    }
    counts.passed++;
    const { authorization } = headers;
    const answer = await fetch(demo.url + path, { headers: { authorization: String(authorization) } });
    return { json: await answer.json(), status: answer.status };
  });
  const token = tokenOf(demo, "ada");
  const env = { UPSTREAM_PROFILE: "polyaxon-0.4" };
  const { ask } = await startGateway({ upstream: service, token, env });
  return { ask, counts, unthrottled: await startGateway({ upstream: demo, token, env }) };
}

/** A copy of an answer's data in which each place of an error is filled from the same place of a whole answer. */
function fill({ data, errors = [] }: Answer<object>, whole: object): unknown {
  const filled: unknown = structuredClone(data);
  for (const { path = [] } of errors) {
    const at = (root: unknown, end: number) =>
      path.slice(0, end).reduce((parent: unknown, key) => Reflect.get(Object(parent), key), root);
    const key = path.at(-1) ?? "";
    expect(at(filled, path.length)).toBeNull();
    Reflect.set(Object(at(filled, -1)), key, at(whole, path.length));
  }
  return filled;
}

describe("on a server that allows 20 requests a minute", () => {
  test("of the whole group graph, what was had is there, and the rest is told plainly in its place", async () => {
    const { ask, unthrottled, counts } = await startThrottled(20);
    const whole = await unthrottled.ask<object, object>(GroupGraphDocument, WIDE);
    const answer = await ask<object, object>(GroupGraphDocument, WIDE);
    // Nothing is tried again: the minute is longer than a request may take.
    expect(counts).toEqual({ passed: 20, refused: 9 });
    expect(fill(answer, whole.data)).toEqual(whole.data);
    const errors = answer.errors ?? [];
    expect(errors.length).toBeGreaterThanOrEqual(9);
    for (const { message, path, extensions } of errors) {
      expect({ message, ...extensions }).toMatchObject({
        message: "The service allows no more requests for now.",
        code: "RATE_LIMITED",
        retryAfterSeconds: 300,
        upstream: { method: "GET", status: 429 },
      });
      expect(["jobs", "buildJob", "nodeScheduled"]).toContain(path?.at(-1));
    }
    // The group and its list are asked for first: they are always among what was had.
    expect(answer.data).toMatchObject({
      group: { status: "RUNNING", experiments: { totalCount: 24, nodes: RUNS.map(() => ({})) } },
    });
  });

  test("a group graph of which not even the group is had is null, with one error", async () => {
    const { ask, counts } = await startThrottled(0);
    const answer = await ask(GroupGraphDocument, WIDE);
    expect(answer.data).toEqual({ group: null });
    expect(errorsOf(answer)).toMatchObject([{ at: "group", code: "RATE_LIMITED", retryAfterSeconds: 300 }]);
    expect(counts).toEqual({ passed: 0, refused: 2 });
  });
});

/** A service that throttles the first requests as told, and answers after them. */
async function startImpatient(retryAfter: string | null, times: number) {
  let asked = 0;
  const service = await startFake(({ path }): Told => {
    if (asked++ < times) {
      const headers: Record<string, string> = retryAfter === null ? {} : { "retry-after": retryAfter };
      return { json: { detail: "Request was throttled." }, status: 429, headers };
    }
    if (path.endsWith("/logs")) return { text: "line 1\n" };
    const record = { id: 3, last_status: "running" };
    return { json: path.includes("?") ? { count: 1, results: [record] } : record };
  });
  const gateway = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  return { ...gateway, calls: service.calls };
}

const LOOK_UP = `{ job(id: "ada.mnist.jobs.3") { status } }`;
const CALL = "GET ada/mnist/jobs/3/";

describe("a service that asks for patience", () => {
  test.each([
    ["a record", LOOK_UP, { job: { status: "RUNNING" } }, CALL],
    [
      "a list",
      `{ project(id: "ada.mnist") { jobs(first: 1) { nodes { status } } } }`,
      { project: { jobs: { nodes: [{ status: "RUNNING" }] } } },
      "GET ada/mnist/jobs?limit=1",
    ],
    [
      "a log",
      `{ job(id: "ada.mnist.jobs.3") { logs { text } } }`,
      { job: { logs: { text: "line 1\n" } } },
      "GET ada/mnist/jobs/3/logs",
    ],
  ])("within the time of the request is waited for, once: %s", async (_, document, data, call) => {
    const { ask, calls } = await startImpatient("0", 1);
    expect(await ask(document)).toEqual({ data });
    expect(calls()).toEqual([call, call]);
  });

  test.each([
    ["twice is not asked a third time", "0", 2, LOOK_UP, { retryAfterSeconds: 0 }, [CALL, CALL]],
    [
      "for longer than the request has is told at once",
      "3000",
      1,
      LOOK_UP,
      { retryAfterSeconds: 300 },
      [CALL],
    ],
    ["without saying how much is told at once", null, 1, LOOK_UP, {}, [CALL]],
    [
      // It was refused: it cannot have happened.
      "before it takes a command is not waited for",
      "0",
      1,
      `mutation { stopJob(id: "ada.mnist.jobs.3", force: true) { job { status } } }`,
      { retryAfterSeconds: 0 },
      ["POST ada/mnist/jobs/3/stop"],
    ],
    [
      "for a batch is told once, and nothing is asked one by one",
      "3600",
      1,
      `{ a: job(id: "ada.mnist.jobs.1") { status } b: job(id: "ada.mnist.jobs.2") { status } }`,
      { retryAfterSeconds: 300 },
      ["GET ada/mnist/jobs?query=id%3A1%7C2&limit=100"],
    ],
  ])("%s", async (_, retryAfter, times, document, facts, sent) => {
    const { ask, calls } = await startImpatient(retryAfter, times);
    const { errors } = await ask(document);
    expect(
      errors?.map(({ extensions: { code, retryAfterSeconds, outcome } }) => ({
        code,
        retryAfterSeconds,
        outcome,
      })),
    ).toEqual([{ code: "RATE_LIMITED", ...facts }]);
    expect(calls()).toEqual(sent);
  });
});
