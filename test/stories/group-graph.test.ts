import { describe, expect, test } from "vitest";
import { GroupGraphDocument } from "../generated/graphql.ts";
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

    expect(data.group).toMatchObject({
      status: "RUNNING",
      experimentCounts: { total: 24, running: 3, succeeded: 15, failed: 3 },
      experiments: { totalCount: 24, pageInfo: { hasNextPage: false } },
    });
    const nodes = data.group?.experiments?.nodes ?? [];
    expect(nodes.map(({ uniqueName }) => uniqueName)).toEqual(RUNS.map((id) => `ada.mnist.1.${id}`));
    expect(nodes[0]).toMatchObject({
      status: "SUCCEEDED",
      buildJob: { uniqueName: "ada.mnist.builds.1", commit: expect.stringMatching(/^[0-9a-f]{40}$/) },
      jobs: { nodes: [{ role: "master", nodeScheduled: { name: "node-1", memory: 33_657_483_264 } }] },
    });
    expect(nodes.at(-1)).toMatchObject({ status: "UNSCHEDULABLE", jobs: { nodes: [] } });
  });
});
