import { expect, test } from "vitest";
import { BulkActionsDocument, type BulkActionsMutationVariables } from "../generated/graphql.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { globalId } from "../support/ids.ts";

const variables: BulkActionsMutationVariables = {
  a: "ada.mnist.42",
  b: "ada.mnist.jobs.2",
  old: "ada.mnist.2",
  note: "The best so far",
};

const ids = {
  experiment: globalId("Experiment:ada/mnist/42"),
  job: globalId("Job:ada/mnist/2"),
  group: globalId("Group:ada/mnist/2"),
};

/** The requests of the whole operation in the order of their arrival. */
const REQUESTS = [
  "PATCH ada/mnist/experiments/42/",
  "POST ada/mnist/experiments/42/bookmark/",
  "GET ada/mnist/experiments/42/",
  "POST ada/mnist/experiments/42/metrics",
  "GET ada/mnist/jobs/2/",
  "POST ada/mnist/jobs/2/stop",
  "GET ada/mnist/jobs/2/",
  "POST ada/mnist/groups/2/tensorboard/start",
  "GET ada/mnist/groups/2/",
  "DELETE ada/mnist/groups/2/",
];

const NOW = Date.parse("2026-06-01T12:00:00.000Z");
/** The demo's spelling of that moment. */
const JUST_NOW = expect.stringMatching(/^2026-06-01T12:00:00\.000\d{3}\+00:00$/);

const done = {
  describe: { experiment: { id: ids.experiment, description: "The best so far", updatedAt: JUST_NOW } },
  keep: { experiment: { id: ids.experiment, isBookmarked: true } },
  record: {
    metric: {
      id: expect.any(String),
      createdAt: JUST_NOW,
      values: [{ name: "review_score", value: 4.5 }],
    },
  },
  halt: { job: { id: ids.job, status: "STOPPING", phase: "ACTIVE" } },
  board: { group: { id: ids.group, hasTensorboard: true } },
  clean: {
    deletedId: ids.group,
    project: { id: globalId("Project:ada/mnist"), uniqueName: "ada.mnist" },
  },
};

/** The requests in the order of their arrival, without the prefix they all have. */
const arrived = (calls: readonly string[]) => calls.map((call) => call.replace(" /api/v1/", " "));

test("six actions in one operation run one after the other, and each answer is read after its own", async () => {
  const { ask, demo } = await startDemoGateway({ now: () => NOW });
  expect(await ask(BulkActionsDocument, variables)).toEqual({ data: done });
  expect(arrived(demo.calls())).toEqual(REQUESTS);
});
