import { expect, test } from "vitest";
import { outcomeOf, sortedErrorsOf } from "../support/errors.ts";
import { globalId } from "../support/ids.ts";
import { recordedAs, ALICE, recordedReads, startRecorded } from "./recorded-server.ts";
import type { Line } from "../support/replay.ts";
import { startBefore } from "../support/gateway.ts";
import TIMES from "./times.json" with { type: "json" };

test("a missing token is UNAUTHENTICATED, with status 200 or 403", async () => {
  // The gateway always sends its caller's token. Here the server ignores it.
  const overlooked = recordedReads
    .filter(({ headers }) => !("Authorization" in headers))
    .map((line): Line => ({ ...line, headers: { Authorization: `token ${ALICE}` } }));
  const { ask, calls } = await startRecorded(overlooked);
  const answer = await ask(
    `{ cluster { uuid } experiment(id: "alice.mnist.1") { name } viewer { username } }`,
  );
  const message = "Authentication credentials were not provided.";
  expect(answer.data).toEqual({ viewer: null, experiment: null, cluster: null });
  expect(sortedErrorsOf(answer)).toMatchObject([
    { at: "cluster", code: "UNAUTHENTICATED", message, upstream: { status: 403 } },
    { at: "experiment", code: "UNAUTHENTICATED", message, upstream: { status: 403 } },
    { at: "viewer", code: "UNAUTHENTICATED", message: "The service says that nobody is signed in." },
  ]);
  expect(calls()).toEqual(["GET alice/mnist/experiments/1/", "GET cluster/", "GET users/"]);
});

test("an HTML page in place of a record is NOT_FOUND", async () => {
  const { ask, calls } = await startRecorded();
  const answer = await ask(`{ experiment(id: "${globalId("Experiment:alice/mn.ist/1")}") { name } }`);
  const message = "Not found: alice.mn.ist.experiments.1.";
  expect(outcomeOf(answer)).toMatchObject({
    data: { experiment: null },
    errors: [{ at: "experiment", code: "NOT_FOUND", message, upstream: { status: 404 } }],
  });
  expect(calls()).toEqual(["GET alice/mn.ist/experiments/1/"]);
});
const experimentAs = (id: number, keys: object) => ({
  [`alice/mnist/experiments/${id}/`]: { ...recordedAs(`experiment detail ${id}`), ...keys },
});

test.each(TIMES)(
  "timestamps $case pass through unchanged and are used for durations",
  async ({ times: stamps, seconds }) => {
    const { ask } = await startBefore(experimentAs(3, stamps));
    const fields = "createdAt startedAt finishedAt durationSeconds";
    expect(outcomeOf(await ask(`{ experiment(id: "alice.mnist.3") { ${fields} } }`))).toEqual({
      data: {
        experiment: {
          createdAt: stamps.created_at,
          startedAt: stamps.started_at,
          finishedAt: stamps.finished_at,
          durationSeconds: expect.closeTo(seconds, 2),
        },
      },
      errors: [],
    });
  },
);
