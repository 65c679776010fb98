import { describe, expect, test } from "vitest";
import { commandCalled } from "../support/commands.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

/** The keys that the document gives the answer of restart, resume and copy. */
const reduced = {
  id: 61,
  uuid: "3ee289314c434bf7a45bdb22f768c2ca",
  name: null,
  unique_name: "ada.mnist.61",
  user: "grace",
  description: "Once more",
  created_at: "2026-02-01T10:00:00.123456+01:00",
  updated_at: "2026-02-01T10:00:00.123457+01:00",
  started_at: null,
  finished_at: null,
  last_status: "created",
  original: "ada.mnist.3",
  project: "ada.mnist",
  experiment_group: null,
  build_job: null,
  tags: null,
};

/** A service that answers commands so, and reads the record as it is a moment later. */
async function startCloning(answer: object = reduced) {
  const later = { ...reduced, last_status: "scheduled", is_clone: true, bookmarked: false, num_jobs: 1 };
  const service = await startFake(({ method }) =>
    method === "GET" ? { json: later } : { status: 201, json: answer },
  );
  return { service, ...(await startGateway({ upstream: service })) };
}

describe("the record that a command answers with is shown without a request:", () => {
  test.each(["restartExperiment", "resumeExperiment", "copyExperiment"])("%s", async (name) => {
    const { ask, service } = await startCloning();
    const { mutation, path } = commandCalled(name);
    const answer = await ask(`mutation { done: ${mutation} { experiment {
      id uniqueName uuid name description status phase tags createdAt updatedAt startedAt durationSeconds
      user { username } project { uniqueName } experimentGroup { id } buildJob { id } original { id uniqueName }
    } } }`);
    const experiment = {
      id: globalId("Experiment:ada/mnist/61"),
      uniqueName: "ada.mnist.61",
      uuid: reduced.uuid,
      name: null,
      description: "Once more",
      status: "CREATED",
      phase: "PENDING",
      tags: null,
      createdAt: reduced.created_at,
      updatedAt: reduced.updated_at,
      startedAt: null,
      durationSeconds: null,
      user: { username: "grace" },
      project: { uniqueName: "ada.mnist" },
      experimentGroup: null,
      buildJob: null,
      original: { id: globalId("Experiment:ada/mnist/3"), uniqueName: "ada.mnist.3" },
    };
    expect(answer).toEqual({ data: { done: { experiment } } });
    expect(service.inOrder()).toEqual([`POST ${path}`]);
  });
});

test("what the answer of a command lacked is read with one request, and nothing else is taken from it", async () => {
  const { ask, service } = await startCloning();
  const { mutation } = commandCalled("copyExperiment");
  const answer = await ask(`mutation { done: ${mutation} {
    experiment { status isClone isBookmarked }
    again: experiment { rawStatus jobCount }
  } }`);
  expect(answer).toEqual({
    data: {
      done: {
        experiment: { status: "CREATED", isClone: true, isBookmarked: false },
        again: { rawStatus: "created", jobCount: 1 },
      },
    },
  });
  expect(service.inOrder()).toEqual(["POST ada/mnist/experiments/3/copy", "GET ada/mnist/experiments/61/"]);
});
