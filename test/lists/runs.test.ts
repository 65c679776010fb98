import { expect, test } from "vitest";
import { startProfile } from "../support/profiles.ts";

test("the projects at the root are those of the caller, or of somebody else", async () => {
  const { ask, calls } = await startProfile();
  const answer = await ask(`{
    projects { nodes { uniqueName } totalCount }
    hers: projects(owner: "grace", first: 2) { nodes { uniqueName } totalCount }
  }`);
  const page = (...names: string[]) => ({
    nodes: names.map((uniqueName) => ({ uniqueName })),
    totalCount: names.length,
  });
  expect(answer).toEqual({ data: { projects: page("ada.speech", "ada.mnist"), hers: page("grace.vision") } });
  expect(calls()).toEqual(["GET ada", "GET grace?limit=2", "GET users/"]);
});
