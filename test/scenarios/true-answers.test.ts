import { describe, expect, test } from "vitest";
import { startFake, startRecords, type FakeResponse } from "../support/fake.ts";
import { type Answer, startBefore, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { listIn } from "../support/listed.ts";
import LOOK_UPS from "./look-ups.json" with { type: "json" };

/** Code and path of each error, and its other paths if there are several. */
const errorsIn = ({ errors = [] }: Answer<unknown>) =>
  errors.map(({ path, extensions: { code, paths } }) => ({
    at: path?.join("."),
    code,
    ...(paths ? { paths: (paths as readonly (readonly string[])[]).map((each) => each.join(".")) } : {}),
  }));

test("returns unique names from the records of the service", async () => {
  const { ask, service } = await startBefore({
    "ada/mnist/experiments/12/": { id: 12, unique_name: "ada.mnist.1.12" },
    "ada/mnist/experiments/12/jobs/7/": { id: 7, unique_name: "ada.mnist.1.12.7.master" },
  });
  const [experiment, job] = ["ada.mnist.1.12", "ada.mnist.1.12.7.master"].map((uniqueName) => ({
    uniqueName,
  }));
  expect(
    await ask(`{
      a: experiment(id: "ada.mnist.12") { uniqueName }
      b: experiment(id: "ada.mnist.1.12") { uniqueName }
      c: experiment(id: "${globalId("Experiment:ada/mnist/12")}") { uniqueName }
      d: experimentJob(id: "ada.mnist.1.12.7.master") { uniqueName }
    }`),
  ).toEqual({ data: { a: experiment, b: experiment, c: experiment, d: job } });
  expect([...new Set(service.calls())]).toEqual([
    "GET ada/mnist/experiments/12/",
    "GET ada/mnist/experiments/12/jobs/7/",
  ]);
});

describe("a lookup of a missing record", () => {
  test.each(LOOK_UPS)("is NOT_FOUND even if only the id is selected: $field", async ({ field, call }) => {
    const { ask, service } = await startBefore(({ path }) =>
      path.endsWith("cluster/") && field.startsWith("node") ? { json: { nodes: [] } } : undefined,
    );
    const answer = (await ask(`{ it: ${field} { id } }`)) as Answer<unknown>;
    expect(answer.data).toEqual({ it: null });
    expect(errorsIn(answer)).toEqual([{ at: "it", code: "NOT_FOUND" }]);
    const unsigned = (await ask(`{ it: ${field} { id } }`, {}, { token: null })) as Answer<unknown>;
    expect(unsigned.data).toEqual({ it: null });
    expect(errorsIn(unsigned)).toEqual([{ at: "it", code: "UNAUTHENTICATED" }]);
    expect(service.calls()).toEqual([`GET ${call}`]);
  });

  test("is detected by its lists, unless a group's list is empty", async () => {
    const service = await startRecords({
      "a/b/experiments/1/statuses": { count: 0, results: [] },
      "a/b/experiments?group=9": { count: 0, results: [] },
    });
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const answer = await ask(`{
      there: experiment(id: "a.b.1") { id statuses { totalCount } }
      gone: experiment(id: "a.b.9") { id statuses { totalCount } }
      group(id: "a.b.9") { experiments { totalCount } }
      none: group(id: "a.b.8") { experiments { totalCount } }
    }`);
    const there = { id: globalId("Experiment:a/b/1"), statuses: { totalCount: 0 } };
    expect(answer.data).toEqual({ there, gone: null, group: null, none: null });
    expect(answer.errors?.map(({ message }) => message)).toContain("Not found: a.b.groups.8.");
    expect(service.calls()).toEqual([
      "GET a/b/experiments/1/statuses",
      "GET a/b/experiments/9/statuses",
      "GET a/b/experiments?group=8",
      "GET a/b/experiments?group=9",
      "GET a/b/groups/9/",
    ]);
  });
});

test("experiment job names must have the right role, but may omit groups", async () => {
  const record = { id: 8, unique_name: "a.b.2.9.8.master", last_status: "running" };
  const { ask } = await startBefore({ "a/b/experiments/9/jobs/8/": record });
  const { data, errors } = await ask(`{
    whole: experimentJob(id: "a.b.2.9.8.master") { status }
    short: experimentJob(id: "a.b.9.8.master") { status }
    role: experimentJob(id: "a.b.9.8.worker") { id }
    group: experimentJob(id: "a.b.3.9.8.master") { id }
  }`);
  const status = { status: "RUNNING" };
  expect(data).toEqual({ whole: status, short: status, role: null, group: null });
  expect(errors?.map(({ message }) => message).toSorted()).toEqual([
    "Not found: a.b.3.9.8.master. There is a.b.2.9.8.master.",
    "Not found: a.b.9.8.worker. There is a.b.2.9.8.master.",
  ]);
});

/** Starts a service with the runs 1 to 24 of a project. Each run uses one of three builds, and has a job on a machine. */
function runsAnd(answer: (path: string) => FakeResponse | undefined) {
  const results = Array.from({ length: 24 }, (_, index) => ({
    id: index + 1,
    unique_name: `a.b.${index + 1}`,
    build_job: `a.b.builds.${(index % 3) + 1}`,
  }));
  return startFake(({ path: whole }) => {
    const path = whole.replace("/api/v1/", "");
    if (path.startsWith("a/b/experiments?")) return { json: { count: 24, results } };
    const id = /^a\/b\/experiments\/(\d+)\/jobs$/.exec(path)?.[1];
    const answered = answer(path);
    if (answered || !id) return answered;
    return { json: { count: 1, results: [{ id: Number(id) + 100, node_scheduled: "node-1" }] } };
  });
}

describe("when some records are unavailable,", () => {
  const RUNS = `{ project(id: "a.b") { experiments(first: 24) { nodes {
    buildJob { uniqueName commit dockerfile }
    jobs { nodes { nodeScheduled { name memory } } }
  } } } }`;

  test("build and machine names remain, with one error per failed request", async () => {
    const throttled: FakeResponse = { json: { detail: "Request was throttled." }, status: 429 };
    const service = await runsAnd((path) => {
      if (path === "cluster/")
        return { json: { detail: "You do not have permission to perform this action." }, status: 403 };
      return path.includes("/builds/") ? throttled : undefined;
    });
    const { ask } = await startGateway({
      upstream: service,
      env: { UPSTREAM_PROFILE: "polyaxon-0.2", MAX_UPSTREAM_WIDTH: "32" },
    });
    const answer = await ask(RUNS);
    for (const [index, node] of listIn(answer, "project.experiments").nodes.entries()) {
      const uniqueName = `a.b.builds.${(index % 3) + 1}`;
      expect(node).toEqual({
        buildJob: { uniqueName, commit: null, dockerfile: null },
        jobs: { nodes: [{ nodeScheduled: { name: "node-1", memory: null } }] },
      });
    }
    const errors = errorsIn(answer).toSorted((a, b) => `${a.at}`.localeCompare(`${b.at}`));
    const nodes = "project.experiments.nodes";
    // Requests for three builds, each of which eight runs select twice, and for the document of the cluster.
    expect(errors.map(({ at, code, paths }) => [at, code, paths?.length])).toEqual([
      [`${nodes}.0.buildJob.commit`, "RATE_LIMITED", 16],
      [`${nodes}.0.jobs.nodes.0.nodeScheduled.memory`, "FORBIDDEN", 24],
      [`${nodes}.1.buildJob.commit`, "RATE_LIMITED", 16],
      [`${nodes}.2.buildJob.commit`, "RATE_LIMITED", 16],
    ]);
    expect(answer.errors?.map(({ extensions }) => extensions["reference"]).toSorted()).toEqual([
      "a.b.builds.1",
      "a.b.builds.2",
      "a.b.builds.3",
      "node-1",
    ]);
  });

  test("shared reads are sent first if MAX_UPSTREAM_REQUESTS is too low", async () => {
    const service = await runsAnd((path) => {
      if (path === "cluster/") return { json: { nodes: [{ name: "node-1", sequence: 1, memory: 5 }] } };
      const id = /builds\/(\d+)\/$/.exec(path)?.[1];
      return id ? { json: { id: Number(id), commit: "c0ffee", dockerfile: "FROM x" } } : undefined;
    });
    const { ask } = await startGateway({
      upstream: service,
      env: { UPSTREAM_PROFILE: "polyaxon-0.2", MAX_UPSTREAM_REQUESTS: "20", MAX_UPSTREAM_WIDTH: "4" },
    });
    const answer = await ask(RUNS);
    const { nodes } = listIn(answer, "project.experiments");
    expect(nodes).toMatchObject(nodes.map(() => ({ buildJob: { commit: "c0ffee" } })));
    // After the list, three builds and the cluster, requests remain for 15 of the 24 lists of jobs.
    const jobLists = nodes.flatMap(({ jobs }) => jobs ?? []);
    const jobs = { nodes: [{ nodeScheduled: { name: "node-1", memory: 5 } }] };
    expect(jobLists).toEqual(Array.from({ length: 15 }, () => jobs));
    expect(answer.errors).toMatchObject([
      { extensions: { code: "REQUEST_LIMIT_EXCEEDED", unsentRequests: 9, paths: { length: 9 } } },
    ]);
    expect(service.calls()).toHaveLength(20);
  });
});
