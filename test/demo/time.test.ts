import { describe, expect, test } from "vitest";
import { MNIST, openDemo } from "./demo-clock.ts";

describe("the clock of the demo", () => {
  test.each(["experiments/43/logs/", "jobs/2/logs", "builds/5/logs"])("lets %s only grow", async (path) => {
    const { ask, wait } = await openDemo();
    const before = await ask(`GET ${MNIST}/${path}`);
    wait(60);
    const after = await ask(`GET ${MNIST}/${path}`);
    expect(before.text.split("\n").length).toBeGreaterThan(50);
    expect(after.text.length).toBeGreaterThan(before.text.length);
    expect(after.text.startsWith(before.text)).toBe(true);
  });

  test("shows the same in every service, however often somebody asked", async () => {
    const [first, second] = [await openDemo(), await openDemo()];
    expect(first.demo.users).toEqual(second.demo.users);
    for (let minute = 0; minute < 30; minute += 1) {
      first.wait(60);
      await first.ask(`GET ${MNIST}/groups/2/`);
    }
    second.wait(1_800);
    for (const path of ["groups/2/", "experiments/50/", "experiments/50/metrics?limit=1"])
      expect(await first.ask(`GET ${MNIST}/${path}`)).toEqual(await second.ask(`GET ${MNIST}/${path}`));
  });
});

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
  test("has at any time a search that records metrics, a build that is building and a job about to end", async () => {
    const { list, countMetrics, wait } = await openActiveDemo();
    for (let step = 0; step < 40; step += 1) {
      const [groups, builds, [job]] = await Promise.all([
        list("groups", "running"),
        list("builds", "building"),
        list("jobs", "running"),
      ]);
      const before = await countMetrics(groups);
      wait(10);
      expect(await countMetrics(groups)).toBeGreaterThan(before);
      expect(builds).not.toEqual([]);
      wait(180);
      const ended = await list("jobs", "succeeded");
      expect(ended.map(({ id }) => id)).toContain(job?.id);
    }
  });

  test("keeps the runs of the last hour only, however long nobody asks", async () => {
    const { list, wait } = await openActiveDemo();
    wait(30 * 86_400);
    const builds = await list("builds", "~stopped");
    const times = builds.map((build) => Date.parse(build.created_at));
    expect(builds.length).toBeGreaterThan(25);
    expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(3_600_000);
  });
});
