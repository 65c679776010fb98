import { describe, expect, test } from "vitest";
import { errorsOf } from "../support/errors.ts";
import { startGateway } from "../support/gateway.ts";
import { type Line, readRecording, startReplay } from "../support/replay.ts";

const beyond = readRecording("0.4.4-beyond");

/** The gateway in front of what release 0.4.4 told alice. */
async function startBeyond(besides: readonly Line[] = []) {
  const upstream = await startReplay([...besides, ...beyond]);
  const gateway = await startGateway({
    upstream,
    token: "b".repeat(64),
    env: { UPSTREAM_PROFILE: "polyaxon-0.4" },
  });
  return { ...gateway, calls: upstream.calls };
}

describe("release 0.4.4 tells", () => {
  test("where an experiment came from", async () => {
    const { ask, calls } = await startBeyond();
    expect(
      await ask(`{ experiment(id: "alice.mnist.1") {
        framework backend readme runEnvironment dataReferences cloningStrategy rawCloningStrategy
        codeReference { branch commit head isDirty url }
      } }`),
    ).toEqual({
      data: {
        experiment: {
          framework: "tensorflow",
          backend: "native",
          readme: "# Exp\n**bold**",
          runEnvironment: { os: "linux", git: { x: 1 }, packages: ["a==1"] },
          dataReferences: { train: "abc" },
          cloningStrategy: null,
          rawCloningStrategy: null,
          codeReference: {
            branch: "master",
            commit: "a6a3a4506513270e269e0d37f2a74de452e6b438",
            head: "1818e811892f902bd23f0824128b2f330c5c7fd0",
            isDirty: false,
            url: null,
          },
        },
      },
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/", "GET alice/mnist/experiments/1/coderef"]);
  });

  test("that an experiment was copied", async () => {
    const { ask, calls } = await startBeyond();
    expect(
      await ask(`{ experiment(id: "alice.mnist.253") {
        isClone cloningStrategy rawCloningStrategy original { uniqueName }
      } }`),
    ).toEqual({
      data: {
        experiment: {
          isClone: true,
          cloningStrategy: "COPY",
          rawCloningStrategy: "copy",
          original: { uniqueName: "alice.mnist.1" },
        },
      },
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/253/"]);
  });

  test("empty texts for an experiment without code: its code reference is null", async () => {
    const third = beyond.find(({ path }) => path.endsWith("experiments/1"));
    const record: readonly Line[] = third ? [{ ...third, path: "/api/v1/alice/mnist/experiments/3" }] : [];
    const { ask, calls } = await startBeyond(record);
    expect(await ask(`{ experiment(id: "alice.mnist.3") { codeReference { commit isDirty } } }`)).toEqual({
      data: { experiment: { codeReference: null } },
    });
    // An empty answer is no proof of the experiment.
    expect(calls()).toEqual(["GET alice/mnist/experiments/3/", "GET alice/mnist/experiments/3/coderef"]);
  });

  test("why an experiment failed", async () => {
    const { ask, calls } = await startBeyond();
    const { data } = await ask<{ experiment: { statuses: { nodes: readonly object[] } } }, object>(
      `{ experiment(id: "alice.mnist.3") { statuses(first: 20) { nodes { status message traceback } } } }`,
    );
    expect(data.experiment.statuses.nodes.slice(-2)).toEqual([
      { status: "RUNNING", message: null, traceback: null },
      { status: "FAILED", message: "OOM", traceback: "Traceback…" },
    ]);
    expect(calls()).toEqual(["GET alice/mnist/experiments/3/statuses?limit=20"]);
  });

  test("more of jobs, builds and groups", async () => {
    const { ask, calls } = await startBeyond();
    expect(
      await ask(`{
        job(id: "alice.mnist.jobs.1") { podId readme dataReferences cloningStrategy }
        buildJob(id: "alice.mnist.builds.1") { podId backend }
        group(id: "alice.mnist.1") { groupType readme }
      }`),
    ).toEqual({
      data: {
        job: {
          podId: "plx-job-4b1dab9f5e7a4cf385bc1228e76404f8",
          readme: "## job",
          dataReferences: { data: "hash" },
          cloningStrategy: null,
        },
        buildJob: { podId: "plx-build-ee4358a7eb504583aa38c829ef6e8f75", backend: "native" },
        group: { groupType: "study", readme: "group readme" },
      },
    });
    expect(calls()).toEqual([
      "GET alice/mnist/builds/1/",
      "GET alice/mnist/groups/1/",
      "GET alice/mnist/jobs/1/",
    ]);
  });

  test("the record of a project", async () => {
    const { ask, calls } = await startBeyond();
    expect(
      await ask(`{ project(owner: "alice", name: "mnist") {
        uniqueName description readme tags isPublic createdAt updatedAt hasCode hasTensorboard hasNotebook
        experimentCount independentExperimentCount groupCount jobCount buildJobCount
      } }`),
    ).toEqual({
      data: {
        project: {
          uniqueName: "alice.mnist",
          description: "Handwritten digits – Ziffern ✍ 数字",
          readme: "# MNIST\n\nrun *me* — ünïcode 🎉",
          tags: ["vision", "mnist"],
          isPublic: true,
          createdAt: "2026-11-21T20:59:56.423143+01:00",
          updatedAt: "2026-11-21T20:59:56.423157+01:00",
          hasCode: true,
          hasTensorboard: null,
          hasNotebook: null,
          experimentCount: 238,
          independentExperimentCount: 14,
          groupCount: 6,
          jobCount: 5,
          buildJobCount: 5,
        },
      },
    });
    expect(calls()).toEqual(["GET alice/mnist"]);
  });

  test("nothing of somebody else's private project", async () => {
    const { ask, calls } = await startBeyond();
    const answer = await ask(`{ project(owner: "bob", name: "secret") { name isPublic jobCount } }`);
    expect(answer.data).toEqual({ project: { name: "secret", isPublic: null, jobCount: null } });
    expect(errorsOf(answer)).toMatchObject([
      {
        at: "project.isPublic",
        code: "FORBIDDEN",
        message: "You do not have permission to perform this action.",
      },
    ]);
    expect(calls()).toEqual(["GET bob/secret"]);
  });

  test("of an owner's projects what their rows have, in one request; the readme of each in another", async () => {
    const { ask, calls } = await startBeyond();
    const projects = (fields: string) =>
      ask(`{ user(username: "alice") { projects(first: 2) { nodes { name ${fields} } } } }`);
    expect(await projects("description tags isPublic createdAt")).toEqual({
      data: {
        user: {
          projects: {
            nodes: [
              {
                name: "quick-start",
                description: null,
                tags: null,
                isPublic: false,
                createdAt: "2026-11-21T20:59:56.448977+01:00",
              },
              {
                name: "mnist",
                description: "Handwritten digits – Ziffern ✍ 数字",
                tags: ["vision", "mnist"],
                isPublic: true,
                createdAt: "2026-11-21T20:59:56.423143+01:00",
              },
            ],
          },
        },
      },
    });
    expect(calls()).toEqual(["GET alice?limit=2"]);

    const { data } = await projects("readme jobCount");
    // The other project was not recorded.
    expect(data).toMatchObject({
      user: {
        projects: { nodes: [{ readme: null }, { readme: "# MNIST\n\nrun *me* — ünïcode 🎉", jobCount: 5 }] },
      },
    });
    expect(calls()).toEqual([
      "GET alice/mnist",
      "GET alice/quick-start",
      "GET alice?limit=2",
      "GET alice?limit=2",
    ]);
  });
});
