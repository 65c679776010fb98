import { describe, expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { startProfile } from "../support/profiles.ts";

describe("the list at the root", () => {
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

  test("of a server without lists is null, and nothing is sent", async () => {
    const { ask, calls } = await startProfile("document");
    expect(outcomeOf(await ask("{ projects { totalCount } }"))).toEqual({
      data: { projects: null },
      errors: [
        failure(
          "projects",
          "CAPABILITY_UNAVAILABLE",
          "The server behind this gateway does not offer GET {owner}: it lacks the capability `LISTS`.",
        ),
      ],
    });
    expect(calls()).toEqual([]);
  });
});
