import { print } from "graphql";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { GroupGraphDocument, type GroupGraphQuery } from "../generated/graphql.ts";
import { callsOf, startDemoService, still, tokenOf } from "../support/demo-gateway.ts";
import { startFake, type Told } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { listen } from "../support/listen.ts";

type Profile = "polyaxon-0.2" | "polyaxon-0.4";
const WIDE = { id: "ada.mnist.1" };

async function startProfile(profile: Profile) {
  const demo = await startDemoService({ now: still });
  const gateway = await startGateway({
    upstream: demo,
    token: tokenOf(demo, "ada"),
    env: { UPSTREAM_PROFILE: profile },
  });
  return { ...gateway, calls: () => callsOf(demo) };
}

/** The experiments of the wide search: 20 have ended, 3 run and 46 found no machine. */
const RUNS = [...Array.from({ length: 20 }, (_, index) => 9 + index), 43, 44, 45, 46];

const GROUP = "GET ada/mnist/groups/1/";
const LIST = "GET ada/mnist/experiments?group=1&sort=created_at%2C-updated_at&limit=50";
const JOBS = RUNS.map((id) => `GET ada/mnist/experiments/${id}/jobs`);
const BUILDS = ["GET ada/mnist/builds/1/", "GET ada/mnist/builds/2/"];

/** The operation with `buildJob { uniqueName status }`: what the rows of lists tell of a build. */
const BY_STATUS = print(GroupGraphDocument).replace(/(buildJob \{\s+id\s+uniqueName\s+)commit/, "$1status");

describe("the group graph: a search, its 24 runs, their builds, jobs and machines", () => {
  test.each<Profile>(["polyaxon-0.4", "polyaxon-0.2"])("takes 29 requests with %s", async (profile) => {
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
      declarations: { lr: 0.001, dropout: 0.25, activation: "relu" },
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

  test.each<[Profile, number, readonly string[]]>([
    ["polyaxon-0.4", 28, ["GET ada/mnist/builds?query=id%3A1%7C2&limit=100"]],
    ["polyaxon-0.2", 29, BUILDS],
  ])("with %s takes %i when of the builds only the status is wanted", async (profile, count, builds) => {
    const { ask, calls } = await startProfile(profile);
    const { data, errors } = await ask<GroupGraphQuery, object>(BY_STATUS, WIDE);
    expect(errors).toBeUndefined();
    expect(data.group?.experiments?.nodes[0]?.buildJob).toEqual({
      id: globalId("BuildJob:ada/mnist/1"),
      uniqueName: "ada.mnist.builds.1",
      status: "SUCCEEDED",
    });
    const asked = calls();
    expect(asked).toEqual([GROUP, LIST, ...JOBS, ...builds, "GET cluster/"].toSorted());
    expect(asked).toHaveLength(count);
  });

  test.each<[Profile, number]>([
    ["polyaxon-0.4", 4],
    ["polyaxon-0.2", 28],
  ])("with %s takes %i with metrics in the place of jobs", async (profile, count) => {
    const { ask, calls } = await startProfile(profile);
    const { errors } = await ask(CHARTS, WIDE);
    expect(errors).toBeUndefined();
    expect(calls()).toHaveLength(count);
  });

  test("takes 74 of a program that follows each reference with a request of its own", async () => {
    const demo = await startDemoService({ now: still });
    const token = tokenOf(demo, "ada");
    const get = async (path: string) => {
      const headers = { authorization: `token ${token}` };
      return (await fetch(`${demo.url}/api/v1/${path}`, { headers })).json();
    };
    await get("ada/mnist/groups/1/");
    const { results } = (await get("ada/mnist/experiments?group=1&limit=50")) as {
      results: readonly { id: number; build_job: string }[];
    };
    const { nodes } = (await get("cluster/")) as { nodes: readonly { name: string; sequence: number }[] };
    for (const run of results) {
      await get(`ada/mnist/builds/${run.build_job.split(".").at(-1)}/`);
      const jobs = (await get(`ada/mnist/experiments/${run.id}/jobs`)) as {
        results: readonly { node_scheduled: string }[];
      };
      for (const { node_scheduled: name } of jobs.results) {
        await get(`nodes/${nodes.find((node) => node.name === name)?.sequence}`);
      }
    }
    const asked = callsOf(demo);
    const count = (pattern: RegExp) => asked.filter((call) => pattern.test(call)).length;
    expect({
      group: count(/groups/),
      list: count(/experiments\?/),
      builds: count(/builds/),
      jobs: count(/jobs$/),
      cluster: count(/cluster/),
      machines: count(/nodes/),
    }).toEqual({ group: 1, list: 1, builds: 24, jobs: 24, cluster: 1, machines: 23 });
    expect(asked).toHaveLength(74);
  });
});

/** The search with the chart of each run and the status of its build: none of it needs a request for each run. */
const CHARTS = /* GraphQL */ `
  query ($id: ID!) {
    group(id: $id) {
      uniqueName
      status
      experimentCounts {
        total
      }
      experiments(first: 50, orderBy: CREATED_ASC) {
        totalCount
        nodes {
          uniqueName
          status
          buildJob {
            uniqueName
            status
          }
          metricSeries(names: ["loss"], maxPoints: 5) {
            name
            values
          }
        }
      }
    }
  }
`;

/**
 * A demo behind a throttle that allows so many requests a minute, as known servers do it. Its minute has begun 18
 * seconds ago and does not pass; `nextMinute` begins another.
 */
async function startThrottled(allowed: number, profile: Profile = "polyaxon-0.4") {
  const demo = await startDemoService({ now: still });
  let passed = 0;
  let refused = 0;
  const url = await listen(async (request, response) => {
    if (passed >= allowed) {
      refused++;
      response.writeHead(429, { "content-type": "application/json", "retry-after": "4200" });
      response.end(JSON.stringify({ detail: "Request was throttled. Expected available in 4200 seconds." }));
      return;
    }
    passed++;
    const { authorization = "" } = request.headers;
    const answer = await fetch(`${demo.url}${request.url}`, { headers: { authorization } });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  const token = tokenOf(demo, "ada");
  const env = { UPSTREAM_PROFILE: profile };
  let skippedMs = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + skippedMs };
  return {
    ...(await startGateway({ upstream: { url }, token, env, clock })),
    /** A gateway before the same demo without a throttle. */
    unthrottled: await startGateway({ upstream: demo, token, env }),
    counts: () => ({ passed, refused }),
    nextMinute: () => {
      passed = 0;
      refused = 0;
      // The pause that the service has asked for is over.
      skippedMs += 300_000;
    },
  };
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
  test("a search with the status of each run's build and its chart gets through", async () => {
    const { ask, unthrottled, counts } = await startThrottled(20);
    const answer = await ask<object, object>(CHARTS, WIDE);
    expect(counts()).toEqual({ passed: 4, refused: 0 });
    expect(answer.errors).toBeUndefined();
    expect(answer).toEqual(await unthrottled.ask(CHARTS, WIDE));
  });

  test("the same search does not get through without batching", async () => {
    const { ask, counts } = await startThrottled(20, "polyaxon-0.2");
    const { errors } = await ask<object, object>(CHARTS, WIDE);
    expect(counts()).toEqual({ passed: 20, refused: 8 });
    expect(new Set(errors?.map(({ extensions }) => extensions["code"]))).toEqual(new Set(["RATE_LIMITED"]));
  });

  test("the group graph of the first 12 runs gets through, once a minute", async () => {
    const { ask, unthrottled, counts, nextMinute } = await startThrottled(20);
    const document = print(GroupGraphDocument).replace("first: 50", "first: 12");
    const answer = await ask<object, object>(document, WIDE);
    // The group, its list, 12 lists of jobs, 2 builds, the cluster: runs 20 and up have another build.
    expect(counts()).toEqual({ passed: 17, refused: 0 });
    expect(answer.errors).toBeUndefined();
    expect(answer).toEqual(await unthrottled.ask(document, WIDE));

    const tooSoon = await ask<object, object>(document, WIDE);
    expect(counts()).toMatchObject({ passed: 20 });
    expect(tooSoon.errors?.length).toBeGreaterThan(0);

    nextMinute();
    expect(await ask<object, object>(document, WIDE)).toEqual(answer);
  });

  test("the whole group graph does not: what was had is there, the rest is told plainly in its place", async () => {
    const { ask, unthrottled, counts } = await startThrottled(20);
    const whole = await unthrottled.ask<object, object>(GroupGraphDocument, WIDE);
    const answer = await ask<object, object>(GroupGraphDocument, WIDE);
    // Nothing is tried again: the minute is longer than a request may take.
    expect(counts()).toEqual({ passed: 20, refused: 9 });
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
    expect(
      answer.errors?.map(({ path, extensions }) => [
        path,
        extensions["code"],
        extensions["retryAfterSeconds"],
      ]),
    ).toEqual([[["group"], "RATE_LIMITED", 300]]);
    expect(counts()).toEqual({ passed: 0, refused: 2 });
  });
});

/** A service that throttles the first requests of each path as told, and answers behind that. */
async function startImpatient(retryAfter: string | null, times: number, env: Record<string, string> = {}) {
  const asked = new Map<string, number>();
  const throttled: Told = {
    json: { detail: "Request was throttled. Expected available in 1 second." },
    status: 429,
    headers: retryAfter === null ? {} : { "retry-after": retryAfter },
  };
  const service = await startFake(({ path }) => {
    const before = asked.get(path) ?? 0;
    asked.set(path, before + 1);
    if (before < times) return throttled;
    if (path.endsWith("/logs")) return { text: "line 1\n" };
    if (path.includes("?")) return { json: { count: 1, results: [{ id: 3, last_status: "running" }] } };
    return { json: { id: 3, last_status: "running" } };
  });
  const gateway = await startGateway({
    upstream: service,
    env: { UPSTREAM_PROFILE: "polyaxon-0.4", ...env },
  });
  return { ...gateway, calls: service.calls };
}

const LOOK_UP = `{ job(id: "ada.mnist.jobs.3") { status } }`;
const CALL = "GET ada/mnist/jobs/3/";

describe("a service that asks for patience", () => {
  test.each([
    ["a record", LOOK_UP, { job: { status: "RUNNING" } }, CALL],
    [
      "a list",
      `{ project(owner: "ada", name: "mnist") { jobs(first: 1) { nodes { status } } } }`,
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

  test("now and then costs nothing but its patience: the whole group graph gets through", async () => {
    const demo = await startDemoService({ now: still });
    const seen: string[] = [];
    const refused: string[] = [];
    const url = await listen(async (request, response) => {
      const path = request.url ?? "";
      seen.push(path);
      // Every third request that comes for the first time.
      if (seen.length % 3 === 0 && !refused.includes(path)) {
        refused.push(path);
        response.writeHead(429, { "content-type": "application/json", "retry-after": "0" }).end("{}");
        return;
      }
      const { authorization = "" } = request.headers;
      const answer = await fetch(demo.url + path, { headers: { authorization } });
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(Buffer.from(await answer.arrayBuffer()));
    });
    const token = tokenOf(demo, "ada");
    const env = { UPSTREAM_PROFILE: "polyaxon-0.4" };
    const patient = await startGateway({ upstream: { url }, token, env });
    const direct = await startGateway({ upstream: demo, token, env });
    const answer = await patient.ask(GroupGraphDocument, WIDE);
    expect(answer.errors).toBeUndefined();
    expect(answer).toEqual(await direct.ask(GroupGraphDocument, WIDE));
    expect(refused.length).toBeGreaterThan(5);
    expect(seen).toHaveLength(29 + refused.length);
  });

  test("twice is not asked a third time, and the caller is told", async () => {
    const { ask, calls } = await startImpatient("0", 2);
    const { data, errors } = await ask(LOOK_UP);
    expect(data).toEqual({ job: null });
    expect(errors).toMatchObject([
      { path: ["job"], extensions: { code: "RATE_LIMITED", retryAfterSeconds: 0 } },
    ]);
    expect(calls()).toEqual([CALL, CALL]);
  });

  test("for longer than the request has is told at once, with how long", async () => {
    // Waiting would end in UPSTREAM_TIMEOUT.
    const { ask, calls } = await startImpatient("3000", 1);
    const { data, errors } = await ask(LOOK_UP);
    expect(data).toEqual({ job: null });
    expect(errors).toMatchObject([
      { path: ["job"], extensions: { code: "RATE_LIMITED", retryAfterSeconds: 300 } },
    ]);
    expect(calls()).toEqual([CALL]);
  });

  test("without saying how much is told at once", async () => {
    const { ask, calls } = await startImpatient(null, 1);
    const { errors } = await ask(LOOK_UP);
    expect(errors?.map(({ extensions }) => extensions["code"])).toEqual(["RATE_LIMITED"]);
    expect(errors?.[0]?.extensions).not.toHaveProperty("retryAfterSeconds");
    expect(calls()).toEqual([CALL]);
  });

  test("before it takes a command is not waited for: a command is sent once", async () => {
    const { ask, calls } = await startImpatient("0", 1);
    const { data, errors } = await ask(`mutation { stopJob(id: "ada.mnist.jobs.3") { job { status } } }`);
    expect(data).toEqual({ stopJob: null });
    expect(errors).toMatchObject([
      { path: ["stopJob"], extensions: { code: "RATE_LIMITED", retryAfterSeconds: 0 } },
    ]);
    // It was refused: it cannot have happened.
    expect(errors?.[0]?.extensions).not.toHaveProperty("outcome");
    expect(calls()).toEqual(["POST ada/mnist/jobs/3/stop"]);
  });

  test("of a batch is told once, and nothing is asked one by one", async () => {
    const { ask, calls } = await startImpatient("3600", 1);
    const { data, errors } = await ask(`{
      project(owner: "ada", name: "mnist") {
        a: job(internalId: "1") { status }
        b: job(internalId: "2") { status }
      }
    }`);
    expect(data).toEqual({ project: { a: null, b: null } });
    expect(errors?.map(({ extensions }) => [extensions["code"], extensions["retryAfterSeconds"]])).toEqual([
      ["RATE_LIMITED", 300],
    ]);
    expect(calls()).toEqual(["GET ada/mnist/jobs?query=id%3A1%7C2&limit=100"]);
  });
});
