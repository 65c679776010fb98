import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { callsOf, startDemoService, startTwo, tokenOf } from "../support/demo-gateway.ts";
import { sortedErrorsOf } from "../support/errors.ts";
import { RELEASE_04, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { profileFile } from "../support/tracker.ts";
import { operation, VARIABLES, withoutPorts } from "../support/random-operations.ts";
import ENTITIES from "./entities.json" with { type: "json" };

test("entities are batched by kind and project, and fail individually", async () => {
  const demo = await startDemoService();
  const gateway = await startGateway({
    upstream: demo,
    token: tokenOf(demo, "grace"),
    env: { UPSTREAM_PROFILE: "polyaxon-0.4" },
  });
  const answer = await gateway.ask<{ entities: readonly unknown[] }, object>(
    `query ($ids: [ID!]!) { entities(ids: $ids) { ... on Run { uniqueName rawStatus } } }`,
    { ids: ENTITIES.map(({ address }) => globalId(address)) },
  );
  expect(answer.data.entities).toEqual(ENTITIES.map(({ reported }) => reported));
  expect(sortedErrorsOf(answer)).toMatchObject([
    { at: "entities.2", code: "NOT_FOUND" },
    { at: "entities.7", code: "FORBIDDEN" },
  ]);
  expect(callsOf(demo).map(decodeURIComponent)).toEqual([
    "GET ada/mnist/experiments/999/",
    "GET ada/mnist/experiments?query=id:42|999|9&limit=100",
    "GET ada/mnist/groups?query=id:1|2&limit=100",
    "GET ada/mnist/jobs?query=id:1|3&limit=100",
    "GET ada/speech/jobs/8/",
    "GET grace/vision/experiments/8/",
  ]);
});

const entities = (...names: readonly string[]) => `entities(ids: ${JSON.stringify(names.map(globalId))})`;

const MATERIAL = {
  roots: [
    ['project(id: "ada.mnist")', "Project"],
    ['project(id: "grace.vision")', "Project"],
    ['group(id: "ada.mnist.1")', "Group"],
    ['group(id: "ada.mnist.2")', "Group"],
    ["viewer", "User"],
    [entities("Experiment:ada/mnist/42", "Experiment:ada/mnist/9", "Experiment:ada/mnist/999"), "Experiment"],
    [entities("BuildJob:ada/mnist/1", "BuildJob:ada/mnist/2", "BuildJob:ada/speech/7"), "BuildJob"],
    [entities("Job:ada/mnist/1", "Job:ada/mnist/4", "Job:ada/mnist/5"), "Job"],
  ],
  // These fields are left out: their values change over time, or (one field) they need the number of a job.
  leftOut: new Set(["durationSeconds", "Experiment.job"]),
  depth: 6,
} as const;

/** The single requests that a batch replaces. Empty for other requests. */
function aloneOf(call: string): string[] {
  const [, list, ids] = /^(.*)\?query=id:([\d|]+)&limit=100$/.exec(decodeURIComponent(call)) ?? [];
  return ids?.split("|").map((each) => `${list}/${each}/`) ?? [];
}

test("batching changes no data or errors, and adds requests only for rereads", async () => {
  const wide = { MAX_UPSTREAM_REQUESTS: "100000", MAX_DEPTH: "40" };
  const withoutBatches = {
    extends: "polyaxon-0.4",
    endpoints: { optional: { groupMetrics: null } },
    filters: { ids: null },
  };
  const UPSTREAM_PROFILE = profileFile(JSON.stringify(withoutBatches));
  const ask = await startTwo({ env: { ...RELEASE_04, ...wide } }, { env: { UPSTREAM_PROFILE, ...wide } });
  let batches = 0;

  await fc.assert(
    fc.asyncProperty(operation(MATERIAL), async (document) => {
      const {
        answer: together,
        calls: asked,
        expected: apart,
        expectedCalls: askedApart,
      } = await ask(document, VARIABLES);
      expect(withoutPorts(together.data)).toEqual(withoutPorts(apart.data));
      expect(sortedErrorsOf(together)).toEqual(sortedErrorsOf(apart));
      expect(new Set(asked).size).toBe(asked.length);
      // Records that were batched partially and are then needed completely, and records that were missing from the batch, are also read
      // alone. A batch that has only such records is unnecessary. No other batch is.
      const inVain = asked.filter((call) => {
        const records = aloneOf(call);
        return records.length > 0 && records.every((record) => asked.includes(record));
      });
      expect(asked.length).toBeLessThanOrEqual(askedApart.length + inVain.length);
      batches += asked.filter((call) => !askedApart.includes(call)).length;
    }),
    { numRuns: cases(20, 100) },
  );
  expect(batches).toBeGreaterThan(0);
});
