import { expect, test } from "vitest";
import { startRecords } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

const startStrange = async (records: Record<string, unknown>) => {
  const service = await startRecords(records);
  const gateway = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  return { ...gateway, calls: service.calls };
};

test("a value of a wrong type is null and logged once, and its neighbours are there", async () => {
  const { ask, logged } = await startStrange({
    "ada/mnist/experiments/1/": {
      id: 1,
      num_jobs: "three",
      tags: ["a", 1, 2],
      started_at: 12,
      config: { version: "one", run: { cmd: ["python"] } },
      surprise: true,
      framework: 7,
      readme: { a: 1 },
      cloning_strategy: ["copy"],
      run_env: "linux",
      data_refs: [1, null],
    },
    "ada/mnist/experiments/1/coderef": { branch: 5, commit: "abc", head: null, is_dirty: "no" },
    "ada/mnist/experiments/1/statuses": {
      count: 2,
      results: [
        { id: 1, status: "failed", traceback: ["no", "text"], message: "why" },
        { id: 2, status: "failed" },
      ],
    },
    "ada/mnist": { name: "mnist", tags: [1], is_public: "yes", num_jobs: 2 ** 40, num_builds: 3 },
  });
  const document = `{ experiment(id: "ada.mnist.1") {
      jobCount tags startedAt config { version run { cmd } raw }
      framework readme cloningStrategy runEnvironment dataReferences
      codeReference { branch commit isDirty url }
      statuses { nodes { message traceback } }
      project { tags isPublic jobCount buildJobCount }
    } }`;
  const warned = () =>
    logged()
      .split("\n")
      .filter((line) => line.includes('"level":40'));
  await ask(document);
  const once = warned();
  for (const place of ["num_jobs", "started_at", "tags.*"])
    expect(once).toContainEqual(expect.stringContaining(`"place":"${place}"`));
  expect(await ask(document)).toEqual({
    data: {
      experiment: {
        jobCount: null,
        tags: null,
        startedAt: null,
        config: { version: null, run: { cmd: null }, raw: { version: "one", run: { cmd: ["python"] } } },
        framework: null,
        readme: null,
        cloningStrategy: null,
        runEnvironment: "linux",
        dataReferences: [1, null],
        codeReference: { branch: null, commit: "abc", isDirty: null, url: null },
        statuses: {
          nodes: [
            { message: "why", traceback: null },
            { message: null, traceback: null },
          ],
        },
        project: { tags: null, isPublic: null, jobCount: null, buildJobCount: 3 },
      },
    },
  });
  expect(warned()).toEqual(once);
});

test.each([
  ["restart", "RESTART"],
  ["resume", "RESUME"],
  ["copy", "COPY"],
  ["Restart", "RESTART"],
  ["fork", "OTHER"],
  ["other", "OTHER"],
  ["constructor", "OTHER"],
  ["", null],
  [null, null],
])("the cloning strategy %j is %s", async (raw, strategy) => {
  const { ask } = await startStrange({ "ada/mnist/jobs/1/": { id: 1, cloning_strategy: raw } });
  expect(await ask(`{ job(id: "ada.mnist.jobs.1") { cloningStrategy } }`)).toEqual({
    data: { job: { cloningStrategy: strategy } },
  });
});
