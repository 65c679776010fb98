import { expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { pageOf, row } from "../support/exported.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { turnsOf } from "../support/turns.ts";

/* Summaries of lists that are read as a whole: how they share the reading, and where they stand. */

async function startRuns(count: number, env: Record<string, string> = {}) {
  const rows = Array.from({ length: count }, (_, index) =>
    row(index + 1, {
      created_at: "2026-01-01T00:00:00Z",
      last_status: index % 2 ? "failed" : "succeeded",
      tags: ["a", "b"],
      declarations: { lr: index % 7 },
      last_metric: { loss: index },
    }),
  );
  const service = await startFake((seen) =>
    seen.path.includes("/jobs") ? { json: { count: 0, next: null, results: [] } } : pageOf(rows, seen),
  );
  const gateway = await startGateway({
    upstream: service,
    env: { UPSTREAM_PROFILE: "polyaxon-0.4", UPSTREAM_RATE_LIMIT: "off", ...env },
  });
  return { ...gateway, calls: service.calls };
}

test("many summaries of one list are made in pieces, and read their runs once", async () => {
  const { ask, calls } = await startRuns(4_000, { CACHE_TTL_MS: "600000", CACHE_BYTES: "100000000" });
  // Equal figures are made once.
  const summaryOf = (metric: string) =>
    `summary(scan: 10000) { best(metric: "${metric}", direction: DESC) { id } groups(by: ["lr", "${metric}"]) { count } }`;
  const summaries = Array.from({ length: 100 }, (_, index) => `s${index}: ${summaryOf(`loss${index}`)}`).join(
    " ",
  );
  const asked = () => ask(`{ project(id: "ada.mnist") { experiments { ${summaries} } } }`);
  // The second time the document is known and the responses are kept: only the figures are made.
  const before = await asked();
  expect(before.errors).toBeUndefined();
  let again: unknown;
  const { all, longest } = await turnsOf(async () => {
    again = await asked();
  });
  expect(again).toEqual(before);
  expect(calls()).toHaveLength(8);
  // In one piece it is almost all.
  expect(longest / all).toBeLessThan(0.3);
});

test("the list of runs at the root has figures of experiments, and of no other kind", async () => {
  const { ask, calls } = await startRuns(3);
  const answer = await ask(`{
    runs(project: "ada.mnist", first: 1) { nodes { uniqueName } summary { scanned best(metric: "loss", direction: DESC) { uniqueName } } }
    jobs: runs(project: "ada.mnist", kind: JOB) { totalCount summary { scanned } }
  }`);
  const { data, errors } = outcomeOf(answer);
  expect(data).toEqual({
    runs: {
      nodes: [{ uniqueName: "ada.mnist.1" }],
      summary: { scanned: 3, best: { uniqueName: "ada.mnist.3" } },
    },
    jobs: { totalCount: 0, summary: null },
  });
  expect(errors).toEqual([
    failure(
      "jobs.summary",
      "BAD_USER_INPUT",
      "summary: expected a list of experiments, such as `kind: EXPERIMENT`",
    ),
  ]);
  expect(calls()).toEqual([
    "GET ada/mnist/experiments?limit=1",
    "GET ada/mnist/experiments?sort=created_at%2C-updated_at&limit=500",
    "GET ada/mnist/jobs",
  ]);
});
