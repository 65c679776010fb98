import { expect, test } from "vitest";
import { openDemo } from "./demo-clock.ts";

test("after a long idle time, an active demo keeps one hour's runs", async () => {
  const { ask, wait } = await openDemo({ activity: true });
  wait(30 * 86_400);
  const { json } = await ask("GET ada/live/builds?limit=100&query=status:~stopped");
  const times: number[] = json.results.map((build: { created_at: string }) => Date.parse(build.created_at));
  expect(times.length).toBeGreaterThan(25);
  expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(3_600_000);
});
