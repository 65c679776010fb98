import { describe, expect, test } from "vitest";
import { tokenOf } from "../support/demo-gateway.ts";
import { globalId } from "../support/ids.ts";
import { startProfile } from "../support/profiles.ts";

describe("projects", () => {
  const projectsOf = (username: string) =>
    `{ entity(id: "${globalId(`User:${username}`)}") {
      ... on User { username projects { nodes { uniqueName name owner { username } } totalCount } }
    } }`;

  test("of a user are those that the caller may see", async () => {
    const { ask, demo } = await startProfile();
    const namesFor = async (username: string) => {
      const { data } = await ask<
        { entity: { projects: { nodes: readonly { uniqueName: string }[] } } },
        object
      >(projectsOf("ada"), {}, { token: tokenOf(demo, username) });
      return data.entity.projects.nodes.map(({ uniqueName }) => uniqueName);
    };
    expect(await namesFor("ada")).toEqual(["ada.speech", "ada.mnist"]);
    expect(await namesFor("grace")).toEqual(["ada.mnist"]);
  });

  test("of somebody whom nobody knows are none", async () => {
    const { ask } = await startProfile();
    expect(await ask(projectsOf("nobody"))).toEqual({
      data: { entity: { username: "nobody", projects: { nodes: [], totalCount: 0 } } },
    });
  });

  test("of the caller lead to everything that is in them", async () => {
    const { ask, calls } = await startProfile();
    const { data, errors } = await ask(`{
      viewer {
        projects {
          nodes {
            name
            jobs(first: 1, orderBy: CREATED_ASC) { nodes { uniqueName } totalCount }
            groups(first: 1) { nodes { uniqueName experiments(first: 1) { totalCount } } }
          }
        }
      }
    }`);
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      viewer: {
        projects: {
          nodes: [
            {
              name: "speech",
              jobs: { nodes: [{ uniqueName: "ada.speech.jobs.8" }], totalCount: 1 },
              groups: { nodes: [] },
            },
            {
              name: "mnist",
              jobs: { nodes: [{ uniqueName: "ada.mnist.jobs.1" }], totalCount: 6 },
              groups: { nodes: [{ uniqueName: "ada.mnist.2", experiments: { totalCount: 12 } }] },
            },
          ],
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
});
