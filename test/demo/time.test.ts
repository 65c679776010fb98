import { describe, expect, test } from "vitest";
import { openDemo } from "./demo-clock.ts";

interface Run {
  readonly id: number;
  readonly created_at: string;
}

/** A demo service with activity, and the runs of its project by their status. */
async function openActiveDemo() {
  const { ask, wait } = await openDemo({ activity: true });
  const list = async (kind: string, status: string): Promise<Run[]> =>
    (await ask(`GET ada/live/${kind}?limit=100&query=status:${status}`)).json.results;
  const countMetrics = async (groups: readonly Run[]) => {
    const pages = await Promise.all(groups.map(({ id }) => ask(`GET ada/live/groups/${id}/metrics`)));
    return pages.reduce((sum, { json }) => sum + json.count, 0);
  };
  return { list, countMetrics, wait };
}

describe("a demo with activity", () => {
  test("keeps the runs of the last hour only, however long nobody asks", async () => {
    const { list, wait } = await openActiveDemo();
    wait(30 * 86_400);
    const builds = await list("builds", "~stopped");
    const times = builds.map((build) => Date.parse(build.created_at));
    expect(builds.length).toBeGreaterThan(25);
    expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(3_600_000);
  });
});
