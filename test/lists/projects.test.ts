import { expect, test } from "vitest";
import { tokenOf } from "../support/demo-gateway.ts";
import { startProfile } from "../support/profiles.ts";

test.each([
  ["ada", "grace", ["ada.mnist"]],
  ["ada", "ada", ["ada.speech", "ada.mnist"]],
  ["nobody", "ada", []],
])("the projects of %s, for %s, are those that the caller may see", async (username, caller, names) => {
  const { ask, demo } = await startProfile();
  const query = `query ($username: String!) { user(username: $username) { projects { nodes { uniqueName } totalCount } } }`;
  const nodes = names.map((uniqueName) => ({ uniqueName }));
  expect(await ask(query, { username }, { token: tokenOf(demo, caller) })).toEqual({
    data: { user: { projects: { nodes, totalCount: names.length } } },
  });
});

test("the projects of the caller lead to everything that is in them", async () => {
  const { ask, calls } = await startProfile();
  const answer = await ask(`{ viewer { projects { nodes {
    name
    jobs(first: 1, orderBy: CREATED_ASC) { nodes { uniqueName } totalCount }
    groups(first: 1) { nodes { uniqueName experiments(first: 1) { totalCount } } }
  } } } }`);
  const jobs = (uniqueName: string, totalCount: number) => ({ nodes: [{ uniqueName }], totalCount });
  const group = { uniqueName: "ada.mnist.2", experiments: { totalCount: 12 } };
  expect(answer).toEqual({
    data: {
      viewer: {
        projects: {
          nodes: [
            { name: "speech", jobs: jobs("ada.speech.jobs.8", 1), groups: { nodes: [] } },
            { name: "mnist", jobs: jobs("ada.mnist.jobs.1", 6), groups: { nodes: [group] } },
          ],
        },
      },
    },
  });
  expect(calls()).toEqual([
    "GET ada",
    "GET ada/mnist/experiments?group=2&limit=1",
    "GET ada/mnist/groups?limit=1",
    "GET ada/mnist/jobs?sort=created_at%2C-updated_at&limit=1",
    "GET ada/speech/groups?limit=1",
    "GET ada/speech/jobs?sort=created_at%2C-updated_at&limit=1",
    "GET users/",
  ]);
});
