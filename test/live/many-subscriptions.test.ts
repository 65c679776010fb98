import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { startBusyProject } from "./busy-project.ts";
import {
  afterEnds,
  busy,
  type Change,
  end,
  FIELDS,
  laterThan,
  line,
  play,
  removal,
  repeated,
  status,
  type Watched,
} from "./changes.ts";

/*
 * Subscriptions of one token, with default settings, in front of a server with the throttle of release 0.4.4. A fake clock measures how
 * late each change is reported.
 */

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test("twenty subscriptions to ten runs report each change within 15 seconds", async () => {
  const project = await startBusyProject(10);
  const watched = [
    ...[1, 2, 3, 4, 5, 6, 7].map((id) => ["runUpdated", id] as const),
    ...[4, 5, 6, 7, 8, 9, 10].map((id) => ["runLogAppended", id] as const),
    ...[1, 2, 3, 8, 9, 10].map((id) => ["experimentMetricRecorded", id] as const),
  ];
  const changes = [
    ...busy(1, 3_000, 1_000, 80),
    ...busy(8, 3_500, 1_700, 56),
    ...busy(9, 20_000, 7_000, 9),
    ...[5_250, 30_100, 31_900, 61_000, 89_400].map((at) => line(at, 4)),
    ...[12_000, 55_555, 118_000].map((at) => line(at, 10)),
    status(41_300, 2, "stopping"),
    status(77_700, 7, "stopping"),
    end(64_200, 3),
    end(64_900, 5),
    end(100_000, 8),
    removal(71_000, 6),
    removal(90_010, 9),
    end(121_000, 10),
  ];
  const reports = await play(project, watched, changes, 150_000);
  expect(laterThan(15_000, reports)).toEqual([]);
  expect(reports).toHaveLength(167);
  expect([project.refused(), repeated(project, changes), afterEnds(project, changes)]).toEqual([0, [], []]);
  // At most 60 requests per minute are sent, and as many for metrics, because metrics have a separate rate limit at the server.
  for (const areMetrics of [true, false]) {
    const counted = project.requests().filter(({ call }) => call.includes("/metrics") === areMetrics);
    expect(counted.length).toBeLessThanOrEqual(150);
  }
});

const PAGE = FIELDS.map((field): Watched => [field, 1]);

test("subscriptions to one run report each change within five seconds", async () => {
  const project = await startBusyProject(1);
  const changes = [
    ...busy(1, 2_000, 2_000, 30),
    ...busy(1, 62_000, 250, 40, 32),
    line(45_200, 1),
    line(101_000, 1),
    status(108_000, 1, "stopping"),
    end(121_300, 1),
  ];
  const reports = await play(project, PAGE, changes, 140_000);
  expect(laterThan(5_000, reports)).toEqual([]);
  expect([repeated(project, changes), afterEnds(project, changes)]).toEqual([[], []]);
});

test("subscriptions to an unchanged run cost 36 requests a minute", async () => {
  const project = await startBusyProject(1);
  await play(project, PAGE, [], 120_000);
  const minute = project.requests().filter(({ at }) => at >= 60_000 && at < 120_000);
  const counts = ["/1/", "/1/metrics?offset=1", "/1/logs/"].map(
    (path) => minute.filter(({ call }) => call === `GET ada/mnist/experiments${path}`).length,
  );
  expect([minute.length, counts]).toEqual([36, [12, 12, 12]]);
});

test.each([14, 21])("%i subscriptions of one token report each change within 15 seconds", async (count) => {
  const project = await startBusyProject(7);
  const watched = FIELDS.flatMap((field) => upTo(7).map((id): Watched => [field, id])).slice(0, count);
  const changes = [
    ...upTo(7).flatMap((id) => busy(id, 3_000 + 130 * id, 2_000, 20)),
    ...upTo(7).map((id) => line(20_000 + 5_100 * id, id)),
    ...upTo(7).map((id) => end(60_000 + 300 * id, id)),
  ];
  const reports = await play(project, watched, changes, 90_000);
  expect(laterThan(15_000, reports)).toEqual([]);
  expect([project.refused(), repeated(project, changes), afterEnds(project, changes)]).toEqual([0, [], []]);
});

/** Subscriptions, and the seconds of changes of their runs. */
const mix = fc.uniqueArray(fc.tuple(fc.constantFrom(...FIELDS), fc.integer({ min: 1, max: 12 })), {
  minLength: 1,
  maxLength: 24,
  selector: (watched) => watched.join(),
});
const moments = fc.uniqueArray(fc.integer({ min: 0, max: 29 }), { minLength: 1, maxLength: 20 });

test("n polls at r requests a minute report changes within 120·n/r seconds", async () => {
  await fc.assert(
    fc.asyncProperty(mix, moments, fc.integer({ min: 20, max: 120 }), async (watched, seconds, perMinute) => {
      // This profile has no lists by ids, and one rate limit for all requests.
      const project = await startBusyProject(12, {
        UPSTREAM_PROFILE: "polyaxon-0.2",
        LIVE_REQUESTS_PER_MINUTE: `${perMinute}`,
      });
      // Each subscription has a poll. The run of a subscription to a log or to metrics has another poll.
      const polls = new Set([...watched.map(String), ...watched.map(([, id]) => `runUpdated,${id}`)]).size;
      // Polls may use half of the server's rate limit.
      const bound = 5_000 + (120_000 * polls) / Math.min(perMinute, 60);
      // Only changes after the first poll are reported, and each poll has had one by then.
      const begin = Math.max(30_000, (60_000 * polls) / Math.min(perMinute, 60));
      const changes = watched.slice(0, seconds.length).flatMap(([field, id], index): Change[] => {
        const at = Math.ceil(begin) + (seconds[index] ?? 0) * 1_000 + index;
        if (field === "runLogAppended") return [line(at, id)];
        return field === "runUpdated" ? [status(at, id, "stopping")] : busy(id, at, 0, 1, 2 + index);
      });
      // The latest time at which these changes are reported.
      const ids = [...new Set(watched.map(([, id]) => id))];
      changes.push(...ids.map((id, index) => end(Math.ceil(begin + 30_000 + bound) + 700 * index, id)));
      const reports = await play(project, watched, changes, begin + 60_000 + 2 * bound);
      expect(laterThan(bound, reports)).toEqual([]);
      // An event that is much later than its interval contains the delay.
      for (const { ms, result } of reports.filter((report) => report.ms > 11_000 && report.result !== null))
        expect(JSON.parse(`${result}`).extensions.live.lateBySeconds).toBeGreaterThan(ms / 1_000 - 7);
    }),
    { numRuns: cases(3, 40) },
  );
});
