import { describe, expect, test } from "vitest";
import { BROKEN, PROJECT, query, readable, row, startExports } from "../support/exported.ts";
import { pageOf, type Seen, type FakeResponse } from "../support/fake.ts";
import { withDeadline } from "../support/long-timeout.ts";

/* Runs that cannot be read. One of them does not end an export of many runs. */

const runs = (count: number) =>
  Array.from({ length: count }, (_, index) => row(index + 1, { started_at: null }));
const RUNS = runs(5);

const recordings = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    created_at: new Date(index * 1_000).toISOString(),
    values: { loss: index },
  }));

/** The experiment whose metrics a request reads; null for any other request. */
const measuredIn = ({ path }: Seen): number | null => {
  const id = /experiments\/(\d+)\/metrics/.exec(path)?.[1];
  return id === undefined ? null : Number(id);
};

/** Runs with one metric record each. Some have another response for their metrics. */
const startMeasured = (
  reported: Readonly<Record<number, (seen: Seen) => FakeResponse>>,
  env: Record<string, string> = {},
  rows: readonly object[] = RUNS,
) =>
  startExports((seen) => {
    const id = measuredIn(seen);
    if (id === null) return pageOf(rows, seen);
    return reported[id]?.(seen) ?? pageOf(recordings(1), seen);
  }, env);

const failing = (status: number) => (): FakeResponse => ({
  status,
  json: { detail: status === 404 ? "Not found." : "canary" },
});

/** The page of records that a request selects. Without a limit, all of them. */
const listed =
  (rows: readonly object[]) =>
  (seen: Seen): FakeResponse =>
    seen.path.includes("limit=") ? pageOf(rows, seen) : { json: { count: rows.length, results: rows } };

const HEAD = "uniqueName,metric,step,recordedAt,secondsSinceStart,value,error";
const valueOf = (id: number, index = 0) =>
  `ada.mnist.${id},loss,${index},${new Date(index * 1_000).toISOString()},,${index},`;

describe("an export of metrics", () => {
  test("reports a run with unreadable metrics and continues with the others", async () => {
    const { get, calls } = await startMeasured({ 1: failing(500), 3: failing(404) });
    const response = await get(`${PROJECT}/metrics.csv`);
    expect([response.status, await response.text()]).toEqual([
      200,
      [
        HEAD,
        "ada.mnist.1,,,,,,UPSTREAM_ERROR: The service answered 500.",
        valueOf(2),
        "ada.mnist.3,,,,,,NOT_FOUND: Not found: ada.mnist.experiments.3.",
        valueOf(4),
        valueOf(5),
        "",
      ].join("\r\n"),
    ]);
    expect(calls()).toHaveLength(6);
  });

  test("also writes an NDJSON line for an unreadable run", async () => {
    const { get } = await startMeasured({ 2: failing(403) });
    const response = await get(`${PROJECT}/metrics.ndjson${query({ columns: "uniqueName,value,error" })}`);
    const lines = (await response.text()).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { uniqueName: "ada.mnist.1", value: 0, error: null },
      { uniqueName: "ada.mnist.2", value: null, error: "FORBIDDEN: canary" },
      ...[3, 4, 5].map((id) => ({ uniqueName: `ada.mnist.${id}`, value: 0, error: null })),
    ]);
  });

  test("without an error column aborts after the readable runs", async () => {
    const { get, logged } = await startMeasured({ 2: failing(500) });
    const response = await get(`${PROJECT}/metrics.csv${query({ columns: "uniqueName,value" })}`);
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const read = async () => {
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
        text += part.value;
    };
    await expect(read()).rejects.toThrow(BROKEN);
    expect(text).toBe(
      ["uniqueName,value", ...[1, 3, 4, 5].map((id) => `ada.mnist.${id},0`), ""].join("\r\n"),
    );
    await expect.poll(logged).toContain('"what":"metrics","code":"UPSTREAM_ERROR"');
  });

  test("without an error column returns an error when no run is readable", async () => {
    const reported = Object.fromEntries(RUNS.map(({ id }) => [id, failing(500)]));
    const { get } = await startMeasured(reported);
    const response = await get(`${PROJECT}/metrics.csv${query({ columns: "value" })}`);
    expect([response.status, await response.json()]).toMatchObject([
      502,
      { errors: [{ extensions: { code: "UPSTREAM_ERROR" } }] },
    ]);
  });

  test("aborts when all runs would fail for the same reason", async () => {
    const { get } = await startMeasured({ 5: failing(401) });
    const body = get(`${PROJECT}/metrics.csv`).then((response) => response.text());
    await expect(body).rejects.toThrow(BROKEN);
  });

  test("reports one unavailable run, but aborts after five in a row", async () => {
    const one = await startMeasured({ 5: failing(502) }, { UPSTREAM_RETRIES: "0" });
    expect(await (await one.get(`${PROJECT}/metrics.csv`)).text()).toBe(
      [
        HEAD,
        ...[1, 2, 3, 4].map((id) => valueOf(id)),
        "ada.mnist.5,,,,,,UPSTREAM_UNAVAILABLE: The service cannot be reached.",
        "",
      ].join("\r\n"),
    );
    const all = Object.fromEntries(RUNS.map(({ id }) => [id, failing(503)]));
    const { get } = await startMeasured(all, { UPSTREAM_RETRIES: "0" });
    const body = get(`${PROJECT}/metrics.csv`).then((response) => response.text());
    await expect(body).rejects.toThrow(BROKEN);
  });

  test("continues after five unavailable runs with others in between", async () => {
    const reported = Object.fromEntries([1, 3, 5, 7, 9].map((id) => [id, failing(503)]));
    const { get } = await startMeasured(reported, { UPSTREAM_RETRIES: "0" }, runs(10));
    const lines = (await (await get(`${PROJECT}/metrics.csv${query({ columns: "error" })}`)).text()).split(
      "\r\n",
    );
    expect(lines.filter((line) => line.startsWith("UPSTREAM_UNAVAILABLE"))).toHaveLength(5);
    expect(lines).toHaveLength(12);
  });

  test("reads metrics too large for one response page by page", async () => {
    const rows = recordings(3_000);
    const { get, inOrder } = await startMeasured(
      { 2: listed(rows) },
      { MAX_JSON_BYTES: "100000", MAX_UPSTREAM_BYTES: "300000" },
    );
    const response = await get(`${PROJECT}/metrics.csv`);
    expect(await response.text()).toBe(
      [
        HEAD,
        valueOf(1),
        ...rows.map((_, index) => valueOf(2, index)),
        ...[3, 4, 5].map((id) => valueOf(id)),
        "",
      ].join("\r\n"),
    );
    const metrics = inOrder().filter((call) => call.includes("experiments/2/metrics"));
    expect(metrics.map((call) => call.replace(/^.*metrics/, ""))).toEqual([
      "",
      ...[
        "40000",
        "10000",
        "2500",
        "625",
        "625&offset=624",
        "625&offset=1248",
        "625&offset=1872",
        "625&offset=2496",
      ].map((limit) => `?limit=${limit}`),
    ]);
  });

  test("survives a run's timeout, but aborts when the service stops responding", async () => {
    await withDeadline(async (deadlineMs) => {
      const hanging = (...ids: number[]) =>
        startExports(
          (seen) => {
            const id = measuredIn(seen);
            if (id === null) return pageOf(RUNS, seen);
            return ids.includes(id) ? new Promise<never>(() => {}) : pageOf(recordings(1), seen);
          },
          { UPSTREAM_TIMEOUT_MS: `${deadlineMs}` },
        );
      const one = await (await (await hanging(3)).get(`${PROJECT}/metrics.csv`)).text();
      expect(one.split("\r\n").filter((line) => line.includes("UPSTREAM_TIMEOUT"))).toEqual([
        "ada.mnist.3,,,,,,UPSTREAM_TIMEOUT: The service did not respond in time.",
      ]);
      expect(one).toContain(valueOf(5));
      const { get } = await hanging(1, 2, 3, 4, 5);
      const body = get(`${PROJECT}/metrics.csv`).then((response) => response.text());
      await expect(body).rejects.toThrow(BROKEN);
    });
  });

  test("reports a run whose metrics end early", async () => {
    const rows = recordings(3_000);
    const list = listed(rows);
    const { get } = await startMeasured(
      { 2: (seen) => (seen.path.includes("offset=1248") ? failing(500)() : list(seen)) },
      { MAX_JSON_BYTES: "100000" },
    );
    const text = await (await get(`${PROJECT}/metrics.csv`)).text();
    const lines = text.split("\r\n").filter((line) => line.startsWith("ada.mnist.2"));
    expect(lines).toEqual([
      ...rows.slice(0, 1_248).map((_, index) => valueOf(2, index)),
      "ada.mnist.2,,,,,,UPSTREAM_ERROR: The service answered 500.",
    ]);
    expect(text).toContain(valueOf(5));
  });
});

test("an export of runs reports an unreadable record beside its list data", async () => {
  const { get } = await startExports((seen) =>
    seen.path.endsWith("/experiments/2/")
      ? { status: 500, json: {} }
      : readable(RUNS, seen, { readme: "text" }),
  );
  const response = await get(`${PROJECT}/runs.csv${query({ columns: "uniqueName,readme,error" })}`);
  expect([response.status, await response.text()]).toEqual([
    200,
    [
      "uniqueName,readme,error",
      "ada.mnist.1,text,",
      "ada.mnist.2,,UPSTREAM_ERROR: The service answered 500.",
      ...[3, 4, 5].map((id) => `ada.mnist.${id},text,`),
      "",
    ].join("\r\n"),
  ]);
});
