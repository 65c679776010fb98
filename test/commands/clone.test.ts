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

describe("a clone", () => {
  /** A service that clones, and reads the new record as it is a moment later. */
  const startCloning = (answer: object = reduced) =>
    startFake(({ method }) =>
      method === "GET"
        ? { json: { ...reduced, last_status: "scheduled", is_clone: true, bookmarked: false, num_jobs: 1 } }
        : { status: 201, json: answer },
    );

  test.each(["restartExperiment", "resumeExperiment", "copyExperiment"])(
    "%s tells of the new record what the answer held, without a request",
    async (name) => {
      const service = await startCloning();
      const { ask } = await startGateway({ upstream: service });
      const command = commandCalled(name);
      const answer = await ask(`mutation {
        done: ${command.mutation} {
          experiment {
            id internalId uniqueName uuid name description status rawStatus phase isFinished tags
            createdAt updatedAt startedAt finishedAt durationSeconds
            user { username } project { uniqueName } experimentGroup { id } buildJob { id }
            original { id uniqueName }
          }
        }
      }`);
      const source = { id: globalId("Experiment:ada/mnist/3") };
      expect(answer).toEqual({
        data: {
          done: {
            experiment: {
              id: globalId("Experiment:ada/mnist/61"),
              internalId: "61",
              uniqueName: "ada.mnist.61",
              uuid: reduced.uuid,
              name: null,
              description: "Once more",
              status: "CREATED",
              rawStatus: "created",
              phase: "PENDING",
              isFinished: false,
              tags: null,
              createdAt: reduced.created_at,
              updatedAt: reduced.updated_at,
              startedAt: null,
              finishedAt: null,
              durationSeconds: null,
              user: { username: "grace" },
              project: { uniqueName: "ada.mnist" },
              experimentGroup: null,
              buildJob: null,
              original: { ...source, uniqueName: "ada.mnist.3" },
            },
          },
        },
      });
      expect(service.inOrder()).toEqual([`POST ${command.path}`]);
    },
  );

  test("fills in only what the answer lacked, with one request", async () => {
    const service = await startCloning();
    const { ask } = await startGateway({ upstream: service });
    const { mutation } = commandCalled("copyExperiment");
    const answer = await ask(`mutation {
      done: ${mutation} {
        experiment { status isClone isBookmarked }
        again: experiment { rawStatus jobCount }
      }
    }`);
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

  test.each(["restartJob", "resumeJob", "copyJob"])(
    "%s gives the new record, which costs no read",
    async (name) => {
      const { original: _, experiment_group: __, ...rest } = reduced;
      const service = await startCloning({ ...rest, unique_name: "ada.mnist.jobs.61" });
      const { ask } = await startGateway({ upstream: service });
      const { mutation, path } = commandCalled(name);
      const answer = await ask(`mutation { done: ${mutation} { job { id uniqueName status } } }`);
      const job = { id: globalId("Job:ada/mnist/61"), uniqueName: "ada.mnist.jobs.61", status: "CREATED" };
      expect(answer).toEqual({ data: { done: { job } } });
      expect(service.inOrder()).toEqual([`POST ${path}`]);
    },
  );
});
