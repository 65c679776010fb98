import { describe, expect, test } from "vitest";
import { startGateway } from "../harness.ts";
import { documentedProfile, profileFile, startTracker } from "../harness-tracker.ts";

/** The gateway in front of the tracker, which only a file describes. */
async function startDescribed(profile = documentedProfile()) {
  const tracker = await startTracker();
  const gateway = await startGateway({ upstream: tracker, env: { UPSTREAM_PROFILE: profileFile(profile) } });
  return { ...gateway, tracker, calls: tracker.calls };
}

describe("a server that only a file describes", () => {
  test("gives its lists in pages of any length, by its own cursors", async () => {
    const { ask, calls } = await startDescribed();
    const query = `query ($after: String) { project(owner: "ada", name: "mnist") {
      experiments(first: 3, after: $after, orderBy: CREATED_ASC) {
        nodes { internalId } totalCount pageInfo { hasNextPage endCursor }
      }
    } }`;
    const pages: unknown[] = [];
    let after: string | null = null;
    for (let hasNextPage = true; hasNextPage; ) {
      const { data, errors } = await ask<any, object>(query, { after });
      expect(errors).toBeUndefined();
      const { nodes, totalCount, pageInfo } = data.project.experiments;
      pages.push([nodes.map((node: { internalId: string }) => node.internalId), totalCount]);
      ({ hasNextPage, endCursor: after } = pageInfo);
    }
    expect(pages).toEqual([
      [["1", "2", "3"], 7],
      [["4", "5", "6"], 7],
      [["7"], 7],
    ]);
    expect(calls()).toEqual([]);
  });
});
