import { expect, onTestFinished, test, vi } from "vitest";
import { globalId } from "../support/ids.ts";
import { experimentId, FIRST_POLL, startLive } from "../support/live-service.ts";

const RECORDED = `subscription ($id: ID!, $after: String) {
  experimentMetricRecorded(id: $id, after: $after) { internalId values(names: ["loss"]) { value } }
}`;

const METRICS = "GET ada/mnist/experiments/1/metrics";
const RUN = "GET ada/mnist/experiments/1/";

/**
 * Starts a server with offsets that has a running experiment with metric records at these minutes. Among records with the same time, the
 * newest comes first.
 */
async function startMeasured(minutes: readonly number[] = [1, 2, 3]) {
  const run = { id: 1, last_status: "running" };
  const recordOf = (id: number, minute: number) => ({
    id,
    values: { loss: id / 10 },
    created_at: new Date(minute * 60_000).toISOString(),
  });
  const records = minutes.map((minute, index) => recordOf(index + 1, minute));
  const live = await startLive([run], {
    env: { UPSTREAM_PROFILE: "polyaxon-0.2" },
    answer: ({ path }) => {
      const { pathname, searchParams } = new URL(path, "http://service");
      if (!pathname.endsWith("/metrics")) return undefined;
      const offset = Number(searchParams.get("offset") ?? 0);
      const rows = records.toSorted(
        (one, other) => Date.parse(one.created_at) - Date.parse(other.created_at) || other.id - one.id,
      );
      const results = rows.slice(offset, offset + Number(searchParams.get("limit") ?? rows.length));
      return { json: { count: records.length, next: null, results } };
    },
  });
  const follow = (after?: string) =>
    live.subscribe({ query: RECORDED, variables: { id: experimentId(1), after } });
  const record = (id: number, minute = id) => void records.push(recordOf(id, minute));
  return { ...live, run, record, follow };
}

const reported = (id: number) => ({
  data: { experimentMetricRecorded: { internalId: `${id}`, values: [{ value: id / 10 }] } },
});

test("reports metric records added after subscribing, and ends with the experiment", async () => {
  const { run, record, follow, advance, reach, settle, requests } = await startMeasured();
  const [one, other] = await Promise.all([follow(), follow()]);
  advance(FIRST_POLL);
  expect(await requests(2)).toEqual([RUN, `${METRICS}?limit=100`]);
  record(4);
  record(5);
  await reach(1_000);
  await settle();
  await reach(2_000);
  for (const id of [4, 5])
    expect([await one.next(), await other.next()]).toEqual([reported(id), reported(id)]);
  run.last_status = "succeeded";
  await settle();
  await reach(3_000);
  await settle();
  await reach(4_000);
  expect([await one.next(), await other.next()]).toEqual([null, null]);
  const [second, third, fourth, ...others] = (await requests(9)).slice(2);
  expect(second).toBe(RUN);
  expect([third, fourth].toSorted()).toEqual([RUN, `${METRICS}?offset=3`]);
  expect(others.toSorted()).toEqual([RUN, ...Array(3).fill(`${METRICS}?offset=5`)]);
});

test.each([
  ["a short list", 3, ["?limit=100"]],
  ["a list longer than a page", 250, ["?limit=100", "?limit=100&offset=150"]],
])("at the end of %s, no record with equal time is lost", async (_, count, seeking) => {
  const { record, follow, advance, reach, requests } = await startMeasured(
    Array.from({ length: count }, (__, index) => Math.min(index, count - 3)),
  );
  const reader = await follow();
  advance(FIRST_POLL);
  expect(await requests(1 + seeking.length)).toEqual([RUN, ...seeking.map((query) => `${METRICS}${query}`)]);
  record(count + 1, count - 3);
  record(count + 2, count - 3);
  await reach(1_000, 2_000);
  expect([await reader.next(), await reader.next()]).toEqual([reported(count + 2), reported(count + 1)]);
  record(count + 3, count);
  await reach(3_000, 4_000);
  expect(await reader.next()).toEqual(reported(count + 3));
});

test.each([
  ["a cursor of the list", null],
  ["the id of a record", globalId("MetricRecord:ada/mnist/1/1")],
])("no record is lost or repeated after %s", async (_, id) => {
  const { ask, record, follow, advance, reach } = await startMeasured();
  const list = `{ experiment(id: "ada.mnist.1") { metrics(first: 1) { pageInfo { endCursor } } } }`;
  const { data } = await ask<{ experiment: { metrics: { pageInfo: { endCursor: string } } } }, object>(list);
  const reader = await follow(id ?? data.experiment.metrics.pageInfo.endCursor);
  advance(FIRST_POLL);
  expect([await reader.next(), await reader.next()]).toEqual([reported(2), reported(3)]);
  record(4);
  await reach(1_000);
  expect(await reader.next()).toEqual(reported(4));
});

test("without counts and offsets, reads existing records but reports only new ones", async () => {
  const pages = [[1, 2], [3]];
  const page = (number: number) => ({
    results: pages[number - 1]?.map((id) => ({ id, values: { loss: id / 10 } })) ?? [],
    next:
      number < pages.length
        ? `http://service/api/v1/ada/mnist/experiments/1/metrics?page=${number + 1}`
        : null,
  });
  const { subscribe, advance, reach, requests } = await startLive([{ id: 1, last_status: "running" }], {
    answer: ({ path }) => {
      const { pathname, searchParams } = new URL(path, "http://service");
      return pathname.endsWith("/metrics")
        ? { json: page(Number(searchParams.get("page") ?? 1)) }
        : undefined;
    },
  });
  const reader = await subscribe({ query: RECORDED, variables: { id: experimentId(1) } });
  advance(FIRST_POLL);
  expect(await requests(3)).toEqual([RUN, METRICS, `${METRICS}?page=2`]);
  pages[1]?.push(4);
  await reach(1_000, 2_000);
  expect(await reader.next()).toEqual(reported(4));
});

test("subscribers at one position share reads, and each record is measured once", async () => {
  const results = [1, 2].map((id) => ({ id, values: { loss: id / 10 } }));
  const { subscribe, advance, settle, inOrder } = await startLive([{ id: 1, last_status: "running" }], {
    env: { UPSTREAM_PROFILE: "polyaxon-0.4" },
    answer: ({ path }) =>
      path.includes("/metrics") ? { json: { count: 2, next: null, results } } : undefined,
  });
  const variables = { id: experimentId(1), after: globalId("MetricRecord:ada/mnist/1/1") };
  const readers = await Promise.all([1, 2, 3].map(() => subscribe({ query: RECORDED, variables })));
  const keys = vi.spyOn(Object, "keys");
  onTestFinished(() => keys.mockRestore());
  advance(FIRST_POLL);
  for (const reader of readers) expect(await reader.next()).toEqual(reported(2));
  const measured = keys.mock.calls.filter(([of]) => "loss" in of);
  expect(measured).toEqual([[{ loss: 0.2 }]]);
  await settle();
  expect(inOrder()).toEqual([RUN, METRICS]);
});

test("immediately refuses an invalid cursor, or a cursor of another experiment", async () => {
  const { follow, inOrder } = await startMeasured();
  for (const after of ["canary", globalId("MetricRecord:ada/mnist/2/1")]) {
    const reader = await follow(after);
    expect(await reader.next()).toMatchObject({ errors: [{ extensions: { code: "BAD_USER_INPUT" } }] });
    expect(await reader.next()).toBe(null);
  }
  expect(inOrder()).toEqual([]);
});

test("reading pages up to a distant record alternates with other polls", async () => {
  const other = { id: 2, last_status: "running" };
  const { subscribe, watch, advance, settle, reach } = await startLive(
    [{ id: 1, last_status: "running" }, other],
    {
      env: { LIVE_REQUESTS_PER_MINUTE: "60" },
      answer: ({ path }) => {
        const { pathname, searchParams } = new URL(path, "http://service");
        if (!pathname.endsWith("/metrics")) return undefined;
        const page = Number(searchParams.get("page") ?? 1);
        const next = `http://service/api/v1/ada/mnist/experiments/1/metrics?page=${page + 1}`;
        return { json: { results: [{ id: page, values: { loss: 1 } }], next } };
      },
    },
  );
  const after = globalId("MetricRecord:ada/mnist/1/100000");
  await subscribe({ query: RECORDED, variables: { id: experimentId(1), after } });
  const watcher = await watch(2);
  advance(FIRST_POLL);
  await reach(1_000);
  await settle();
  expect(await watcher.next()).toMatchObject({ data: { runUpdated: { run: { status: "RUNNING" } } } });
  other.last_status = "succeeded";
  for (let seconds = 0; seconds < 15; seconds++) {
    advance(1_000);
    await settle();
  }
  expect(await watcher.next()).toMatchObject({ data: { runUpdated: { run: { status: "SUCCEEDED" } } } });
});
