import { describe, expect, test } from "vitest";
import { tokenOf } from "../support/demo-gateway.ts";
import { codesOf } from "../support/errors.ts";
import { startProfile } from "../support/profiles.ts";

const ENTRY = "action subject actor { username } objectName objectInternalId createdAt";

describe("activity", () => {
  test("of the caller and of a project has what was done, the latest first, page by page", async () => {
    const { ask, calls, demo } = await startProfile();
    await ask(`mutation {
      stopExperiment(id: "ada.mnist.43") { __typename }
      updateProject(id: "ada.mnist", input: { description: "x" }) { __typename }
    }`);
    await ask(
      `mutation { bookmarkProject(id: "ada.mnist") { __typename } }`,
      {},
      { token: tokenOf(demo, "grace") },
    );
    calls();
    const at = "2026-06-01T12:00:00.";
    const entry = (action: string, subject: string, [name, id]: readonly [string, string], who = "ada") => ({
      action,
      subject,
      actor: { username: who },
      objectName: name,
      objectInternalId: id,
      createdAt: expect.stringContaining(at) as string,
    });
    const stopped = entry("stopped", "experiment", ["ada.mnist.1.43", "43"]);
    const changed = entry("updated", "project", ["ada.mnist", "1"]);
    const marked = entry("bookmarked", "project", ["ada.mnist", "1"], "grace");

    const first = await ask<{ activity: { pageInfo: { endCursor: string } }; project: object }, object>(`{
      activity(first: 1) { nodes { ${ENTRY} } pageInfo { hasNextPage endCursor } }
      project(owner: "ada", name: "mnist") { activity(first: 3) { nodes { ${ENTRY} } } }
    }`);
    expect(first).toEqual({
      data: {
        activity: {
          nodes: [changed],
          pageInfo: { hasNextPage: true, endCursor: expect.any(String) as string },
        },
        project: { activity: { nodes: [marked, changed, stopped] } },
      },
    });
    expect(calls()).toEqual(["GET activitylogs/ada/mnist?limit=3", "GET activitylogs?limit=1"]);

    const { endCursor } = first.data.activity.pageInfo;
    expect(await ask(`{ activity(first: 1, after: "${endCursor}") { nodes { ${ENTRY} } } }`)).toEqual({
      data: { activity: { nodes: [stopped] } },
    });
    expect(calls()).toEqual(["GET activitylogs?limit=1&offset=1"]);
  });

  test("history has what the caller looked at, and nobody else", async () => {
    const { ask, calls, demo } = await startProfile();
    await ask(`{ job(id: "ada.mnist.jobs.1") { status } }`);
    await ask(`{ group(id: "ada.mnist.1") { status } }`);
    calls();
    const history = `{ history { nodes { action subject objectName } totalCount } }`;
    expect(await ask(history)).toEqual({
      data: {
        history: {
          nodes: [
            { action: "viewed", subject: "experiment_group", objectName: "ada.mnist.1" },
            { action: "viewed", subject: "job", objectName: "ada.mnist.jobs.1" },
          ],
          totalCount: 2,
        },
      },
    });
    expect(calls()).toEqual(["GET historylogs"]);
    expect(await ask(history, {}, { token: tokenOf(demo, "grace") })).toEqual({
      data: { history: { nodes: [], totalCount: 0 } },
    });
  });

  test("of a project that the caller may not see is empty", async () => {
    const { ask, demo } = await startProfile();
    const token = tokenOf(demo, "grace");
    expect(
      await ask(`{ project(owner: "ada", name: "speech") { activity { totalCount } } }`, {}, { token }),
    ).toEqual({ data: { project: { activity: { totalCount: 0 } } } });
  });

  test.each(["document", "polyaxon-0.2"] as const)("is not there with %s", async (profile) => {
    const { ask, calls } = await startProfile(profile);
    const answer = await ask(`{
      activity { totalCount }
      history { totalCount }
      project(owner: "ada", name: "mnist") { activity { totalCount } }
    }`);
    expect(codesOf(answer)).toEqual(Array.from({ length: 3 }, () => "CAPABILITY_UNAVAILABLE"));
    expect(calls()).toEqual([]);
  });
});
