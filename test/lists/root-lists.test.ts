import { describe, expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { globalId } from "../support/ids.ts";
import { startProfile } from "../support/profiles.ts";

describe("root lists", () => {
  test("the projects of the caller, or of somebody else", async () => {
    const { ask, calls } = await startProfile();
    const answer = await ask(`{
      projects { nodes { uniqueName } totalCount }
      hers: projects(owner: "grace", first: 2) { nodes { uniqueName } totalCount }
    }`);
    const page = (...names: string[]) => ({
      nodes: names.map((uniqueName) => ({ uniqueName })),
      totalCount: names.length,
    });
    expect(answer).toEqual({
      data: { projects: page("ada.speech", "ada.mnist"), hers: page("grace.vision") },
    });
    expect(calls()).toEqual(["GET ada", "GET grace?limit=2", "GET users/"]);
  });

  test("the runs of a project are of one kind, with the order and the filter of its own lists", async () => {
    const { ask, calls } = await startProfile();
    const args = `first: 2, order: { field: CREATED, direction: ASC }`;
    expect(
      await ask(`{
        jobs: runs(kind: JOB, project: "ada.mnist", ${args}) { nodes { __typename uniqueName } totalCount }
        best: runs(project: "${globalId("Project:ada/mnist")}", first: 1, order: { metric: "accuracy" },
          filter: { status: [SUCCEEDED] }) { nodes { __typename project { name } } scan { rowsRead } }
        groups(project: "ada.mnist", ${args}) { nodes { uniqueName } }
      }`),
    ).toEqual({
      data: {
        jobs: {
          nodes: [
            { __typename: "Job", uniqueName: "ada.mnist.jobs.1" },
            { __typename: "Job", uniqueName: "ada.mnist.jobs.3" },
          ],
          totalCount: 6,
        },
        best: { nodes: [{ __typename: "Experiment", project: { name: "mnist" } }], scan: null },
        groups: { nodes: [{ uniqueName: "ada.mnist.1" }, { uniqueName: "ada.mnist.2" }] },
      },
    });
    expect(calls()).toEqual([
      "GET ada/mnist/experiments?sort=-metric.accuracy%2C-created_at&query=status%3Asucceeded%2Cmetric.accuracy%3A%3E%3D-1e308&limit=1",
      "GET ada/mnist/groups?sort=created_at%2C-updated_at&limit=2",
      "GET ada/mnist/jobs?sort=created_at%2C-updated_at&limit=2",
    ]);
  });

  const of = (what: string) =>
    `The server behind this gateway does not offer ${what}. \`gateway.capabilities\` tells what there is.`;
  const ofAll = (what: string) =>
    of(`lists of ${what} of all projects; name one by the argument \`project\``);

  test.each([
    [
      "without a project tell that there are none, and which argument helps",
      "polyaxon-0.4",
      "{ jobs: runs(kind: JOB) { totalCount } groups { totalCount } }",
      { jobs: ofAll("jobs"), groups: ofAll("groups") },
    ],
    [
      "of a server without lists are null",
      "document",
      `{ projects { totalCount } runs(project: "ada.mnist") { totalCount } }`,
      { projects: of("this"), runs: of("this") },
    ],
  ] as const)("%s, and nothing is sent", async (_, profile, query, messages) => {
    const { ask, calls } = await startProfile(profile);
    expect(outcomeOf(await ask(query))).toEqual({
      data: Object.fromEntries(Object.keys(messages).map((field) => [field, null])),
      errors: Object.entries(messages).map(([field, message]) =>
        failure(field, "CAPABILITY_UNAVAILABLE", message),
      ),
    });
    expect(calls()).toEqual([]);
  });
});
