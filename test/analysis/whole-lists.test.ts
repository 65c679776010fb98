import { expect, test } from "vitest";
import { row } from "../support/exported.ts";
import { pageOf, startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { measureTicks } from "../support/ticks.ts";

/* Summaries of lists that are read as a whole: how they share reads, and where in an operation they can be. */

/** Names that a summary accepts, because one run has values with these names. */
const NAMED = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`loss${index}`, index]));

async function startRuns(count: number, env: Record<string, string> = {}) {
  const rows = Array.from({ length: count }, (_, index) =>
    row(index + 1, {
      created_at: "2026-01-01T00:00:00Z",
      last_status: index % 2 ? "failed" : "succeeded",
      tags: ["a", "b"],
      declarations: { lr: index % 7, ...(index === 0 && NAMED) },
      last_metric: { loss: index, ...(index === 0 && NAMED) },
    }),
  );
  const service = await startFake((seen) => pageOf(rows, seen));
  const gateway = await startGateway({
    upstream: service,
    env: { UPSTREAM_PROFILE: "polyaxon-0.4", UPSTREAM_RATE_LIMIT: "off", ...env },
  });
  return { ...gateway, calls: service.calls };
}

test("computes many summaries of a list in time slices, reading runs once", async () => {
  const { ask, calls } = await startRuns(4_000, { CACHE_TTL_MS: "600000", CACHE_BYTES: "100000000" });
  // Equal statistics are computed once.
  const summaryOf = (metric: string) =>
    `summary(maxScannedRows: 10000) { best(metric: "${metric}", direction: DESC) { id } breakdown(by: [$lr, { parameter: "${metric}" }]) { count } }`;
  const summaries = Array.from({ length: 100 }, (_, index) => `s${index}: ${summaryOf(`loss${index}`)}`).join(
    " ",
  );
  const asked = () =>
    ask(`query ($lr: BreakdownKey!) { project(id: "ada.mnist") { experiments { ${summaries} } } }`, {
      lr: { parameter: "lr" },
    });
  // The second time, the document and the responses are cached, so only the statistics are computed.
  const before = await asked();
  expect(before.errors).toBeUndefined();
  let again: unknown;
  const { all, longest } = await measureTicks(async () => {
    again = await asked();
  });
  expect(again).toEqual(before);
  expect(calls()).toHaveLength(8);
  // Without yielding, the longest tick would take almost all of the time.
  expect(longest / all).toBeLessThan(0.3);
});
