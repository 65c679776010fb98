import { expect, onTestFinished, test } from "vitest";
import { startDemo } from "../../src/demo/service.ts";

interface Run {
  readonly id: number;
  readonly last_status: string;
  readonly created_at: string;
}

/** A demo service with activity whose clock stands still until `wait` moves it on. */
async function open() {
  let time = Date.UTC(2026, 5, 1, 12);
  const demo = await startDemo({ now: () => time, activity: true });
  onTestFinished(() => demo.close());
  const get = async (path: string) => {
    const headers = { authorization: `token ${demo.users[0]?.token}` };
    const response = await fetch(`${demo.url}/api/v1/${path}`, { headers });
    return (await response.json()) as { count: number; results: Run[] };
  };
  return {
    list: async (path: string, status: string) =>
      (await get(`ada/live/${path}?limit=100&sort=created_at&query=status:${status}`)).results,
    count: async (path: string) => (await get(path)).count,
    wait: (seconds: number) => {
      time += seconds * 1_000;
    },
  };
}

test("at any time a search records metrics, a build is building and a job is about to end", async () => {
  const { list, count, wait } = await open();
  for (let step = 0; step < 40; step += 1) {
    const [groups, builds, [job]] = await Promise.all([
      list("groups", "running"),
      list("builds", "building"),
      list("jobs", "running"),
    ]);
    const recorded = async () => {
      const counts = await Promise.all(groups.map(({ id }) => count(`ada/live/groups/${id}/metrics`)));
      return counts.reduce((sum, records) => sum + records, 0);
    };
    const before = await recorded();
    wait(10);
    expect(await recorded()).toBeGreaterThan(before);
    expect(builds).not.toEqual([]);
    wait(180);
    const ended = await list("jobs", "succeeded");
    expect(ended.map(({ id }) => id)).toContain(job?.id);
  }
});

test("activity keeps the runs of the last hour only, however long nobody asks", async () => {
  const { list, wait } = await open();
  wait(30 * 86_400);
  const builds = await list("builds", "~stopped");
  const times = builds.map((build) => Date.parse(build.created_at));
  expect(builds.length).toBeGreaterThan(25);
  expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(3_600_000);
});
