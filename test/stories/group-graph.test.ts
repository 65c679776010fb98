import { describe, expect, test } from "vitest";
import { GroupGraphDocument } from "../generated/graphql.ts";
import { globalId } from "../support/ids.ts";
import { type ProfileName, startProfile } from "../support/profiles.ts";

const WIDE = { id: "ada.mnist.1" };

/** The experiments of the wide search: 20 have ended, 3 run and 46 found no machine. */
const RUNS = [...Array.from({ length: 20 }, (_, index) => 9 + index), 43, 44, 45, 46];

const GROUP = "GET ada/mnist/groups/1/";
const LIST = "GET ada/mnist/experiments?group=1&sort=created_at%2C-updated_at&limit=50";
const JOBS = RUNS.map((id) => `GET ada/mnist/experiments/${id}/jobs`);
const BUILDS = ["GET ada/mnist/builds/1/", "GET ada/mnist/builds/2/"];

describe("the group graph: a search, its 24 runs, their builds, jobs and machines", () => {
  test.each<ProfileName>(["polyaxon-0.4", "polyaxon-0.2"])("takes 29 requests with %s", async (profile) => {
    const { ask, calls } = await startProfile(profile);
    const { data, errors } = await ask(GroupGraphDocument, WIDE);
    expect(errors).toBeUndefined();
    expect(calls()).toEqual([GROUP, LIST, ...JOBS, ...BUILDS, "GET cluster/"].toSorted());

    const { experiments, ...group } = data.group ?? {};
    expect(group).toEqual({
      id: globalId("Group:ada/mnist/1"),
      uniqueName: "ada.mnist.1",
      status: "RUNNING",
      experimentCounts: { total: 24, running: 3, succeeded: 15, failed: 3 },
    });
    expect(experiments).toMatchObject({ totalCount: 24, pageInfo: { hasNextPage: false } });
    expect(experiments?.nodes.map(({ uniqueName }) => uniqueName)).toEqual(
      RUNS.map((id) => `ada.mnist.1.${id}`),
    );
    expect(experiments?.nodes[0]).toEqual({
      id: globalId("Experiment:ada/mnist/9"),
      uniqueName: "ada.mnist.1.9",
      status: "SUCCEEDED",
      declarations: [
        { name: "activation", value: "relu" },
        { name: "dropout", value: 0.25 },
        { name: "lr", value: 0.001 },
      ],
      latestMetrics: [
        { name: "accuracy", value: expect.any(Number) },
        { name: "loss", value: expect.any(Number) },
      ],
      buildJob: {
        id: globalId("BuildJob:ada/mnist/1"),
        uniqueName: "ada.mnist.builds.1",
        commit: expect.stringMatching(/^[0-9a-f]{40}$/),
      },
      jobs: {
        nodes: [
          {
            id: expect.any(String),
            role: "master",
            status: "SUCCEEDED",
            nodeScheduled: { id: expect.any(String), name: "node-1", memory: 33_657_483_264 },
          },
        ],
      },
    });
    expect(experiments?.nodes.at(-1)).toMatchObject({ status: "UNSCHEDULABLE", jobs: { nodes: [] } });
  });
});
