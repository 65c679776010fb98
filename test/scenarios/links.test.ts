import { expect, test } from "vitest";
import { sortedErrorsOf } from "../support/errors.ts";
import { type Answer, RELEASE_02, startBefore } from "../support/gateway.ts";

const experiment = { id: 3, unique_name: "ada.mnist.3", last_status: "running" };

/** Path, code and reference of each error. */
const reported = (answer: Answer<unknown>) =>
  sortedErrorsOf(answer).map(({ at, ...details }) => {
    const { code, reference, paths } = details as Readonly<Record<string, unknown>>;
    return { path: at, code, reference, paths };
  });

test("missing links are null, and unreadable links keep their names", async () => {
  const { ask } = await startBefore(({ path }) => {
    if (path.endsWith("experiments/3/")) {
      return {
        json: {
          ...experiment,
          build_job: "ada.mnist.builds.7",
          experiment_group: "ada.mnist.2",
          original: "bob.secret.1",
        },
      };
    }
    if (path.endsWith("secret/experiments/1/")) {
      return { json: { detail: "You do not have permission to perform this action." }, status: 403 };
    }
    return path.endsWith("groups/2/") ? { text: "<h1>crashed</h1>", status: 500 } : undefined;
  });
  const answer = await ask(`{ experiment(id: "ada.mnist.3") {
      status
      buildJob { status commit dockerfile }
      experimentGroup { uniqueName concurrency rawStatus }
      original { status tags }
    } }`);
  expect(answer.data).toEqual({
    experiment: {
      status: "RUNNING",
      buildJob: null,
      experimentGroup: { uniqueName: "ada.mnist.2", concurrency: null, rawStatus: null },
      // A status is never null, so its error makes the run null.
      original: null,
    },
  });
  expect(reported(answer)).toEqual([
    { path: "experiment.buildJob", code: "NOT_FOUND", reference: "ada.mnist.builds.7" },
    // Two fields of the group are null for the same reason.
    {
      path: "experiment.experimentGroup.concurrency",
      code: "UPSTREAM_ERROR",
      reference: "ada.mnist.2",
      paths: ["concurrency", "rawStatus"].map((field) => ["experiment", "experimentGroup", field]),
    },
    { path: "experiment.original", code: "FORBIDDEN", reference: "bob.secret.1" },
  ]);
});

const SHAPES = [
  ["buildJob", "build_job", "build #7"],
  ["buildJob", "build_job", ".mnist.builds.7"],
  ["experimentGroup", "experiment_group", "ada..7"],
];

test.each(SHAPES)("a %s of unknown form (%s: %s) is null with an error", async (field, key, shape) => {
  const clone = { ...experiment, original: "ada.mnist.9" };
  const { ask } = await startBefore(
    {
      "ada/mnist/experiments": { count: 2, next: null, results: [clone, { ...clone, id: 4 }] },
      "ada/mnist/experiments/9/": { ...experiment, unique_name: clone.original, [`${key}`]: shape },
    },
    RELEASE_02,
  );
  const fields = `experiments { nodes { original { status ${field} { id } } } }`;
  const answer = await ask(`{ project(id: "ada.mnist") { ${fields} } }`);
  const nodes = [1, 2].map(() => ({ original: { status: "RUNNING", [`${field}`]: null } }));
  expect(answer.data).toEqual({ project: { experiments: { nodes } } });
  const reference = { code: "UPSTREAM_BAD_RESPONSE", reference: shape };
  expect(reported(answer)).toEqual(
    [0, 1].map((at) => ({ path: `project.experiments.nodes.${at}.original.${field}`, ...reference })),
  );
});

test("a missing run with selected lists causes one error", async () => {
  // The record is rejected once all three requests have arrived: they start together.
  let asked = 0;
  let refuse: (reported: undefined) => void = () => {};
  const refused = new Promise<undefined>((resolve) => (refuse = resolve));
  const { ask, service } = await startBefore(() => {
    if (++asked === 3) refuse(undefined);
    return refused;
  });
  const answer = await ask(
    `{ experiment(id: "ada.mnist.3") { status statuses { totalCount } jobs { totalCount } } }`,
  );
  expect(answer.data).toEqual({ experiment: null });
  expect(reported(answer)).toEqual([{ path: "experiment", code: "NOT_FOUND", reference: undefined }]);
  expect(service.calls()).toEqual([
    "GET ada/mnist/experiments/3/",
    "GET ada/mnist/experiments/3/jobs",
    "GET ada/mnist/experiments/3/statuses",
  ]);
});

test("a machine that left the cluster has only its name", async () => {
  const { ask } = await startBefore({
    "ada/mnist/jobs/3/": { id: 3, node_scheduled: "node-9" },
    "cluster/": { nodes: [{ name: "node-1", sequence: 1 }] },
  });
  const answer = await ask(`{
      name: job(id: "ada.mnist.jobs.3") { nodeScheduled { name } }
      more: job(id: "ada.mnist.jobs.3") { nodeScheduled { name memory } }
    }`);
  expect(answer.data).toEqual({ name: { nodeScheduled: { name: "node-9" } }, more: { nodeScheduled: null } });
  expect(reported(answer)).toEqual([{ path: "more.nodeScheduled", code: "NOT_FOUND", reference: "node-9" }]);
});
