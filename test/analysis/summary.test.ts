import { expect, onTestFinished, test, vi } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { row } from "../support/exported.ts";
import { pageOf, type Seen, type FakeResponse } from "../support/fake.ts";
import { startBefore } from "../support/gateway.ts";
import { listIn } from "../support/listed.ts";
import { profileFile } from "../support/tracker.ts";
import EXPECTED from "./summary.json" with { type: "json" };
import REFUSED from "./refused.json" with { type: "json" };

/** Starts a gateway in front of a service with these experiments of `ada/mnist`. */
async function startRuns(
  rows: readonly object[],
  {
    env = {},
    answer,
  }: { env?: Record<string, string>; answer?: (seen: Seen) => FakeResponse | undefined } = {},
) {
  const { ask, url, service } = await startBefore((seen) => answer?.(seen) ?? pageOf(rows, seen), {
    UPSTREAM_PROFILE: "polyaxon-0.4",
    ...env,
  });
  const list = (args: string, fields: string) =>
    ask(`{ project(id: "ada.mnist") { experiments${args} { ${fields} } } }`);
  const get = (path: string) => fetch(`${url}/export/${path}`, { headers: { authorization: "token t0ken" } });
  return { list, get, calls: service.calls };
}

const summaryOf = (summary: object | null) => ({ data: { project: { experiments: { summary } } } });

const WHOLE = "GET ada/mnist/experiments?sort=created_at%2C-updated_at&limit=500";

test("a summary returns statuses, parameters, metrics and best runs in one request", async () => {
  const { list, calls } = await startRuns(EXPECTED.rows);
  const answer = await list(
    "",
    `summary {
      scannedRows total isComplete
      statuses { status count }
      parameters { name count distinctCount values { value count } min max }
      metrics { name count leftOut mean standardDeviation min max median }
      best(metric: "loss", direction: ASC) { uniqueName }
      worst: best(metric: "loss", direction: DESC) { uniqueName }
      none: best(metric: "note", direction: DESC) { uniqueName }
    }`,
  );
  expect(answer).toEqual(summaryOf(EXPECTED.whole));
  expect(calls()).toEqual([WHOLE]);
});

test("groups runs by parameter, status, user and tag, with statistics", async () => {
  const { list, calls } = await startRuns(EXPECTED.rows.slice(0, 4));
  const answer = await list(
    "",
    `summary {
      lr: breakdown(by: [{ parameter: "lr" }], metrics: ["loss"]) { values count statuses { status count } metrics { name mean count leftOut } }
      tag: breakdown(by: [{ property: TAG }, { property: USER }], metrics: []) { values count metrics { name } }
      both: breakdown(by: [{ parameter: "lr" }, { property: STATUS }], metrics: []) { values count }
    }`,
  );
  expect(answer).toEqual(summaryOf(EXPECTED.breakdowns));
  expect(calls()).toEqual([WHOLE]);
});

test("resolves a parameter name as a key first, then as a path", async () => {
  const loss = (id: number, declarations: object) => row(id, { declarations, last_metric: { loss: id } });
  const rows = [
    loss(1, { model: { lr: 0.1, "b.1": 1 } }),
    loss(2, { model: { lr: 0.2 }, "model.lr": 0.3 }),
    loss(3, { "model.lr": null }),
    loss(4, { model: 7 }),
  ];
  const { list, calls, get } = await startRuns(rows);
  const filter = `(filter: { parameters: [{ name: "model.lr", atLeast: 0.1 }] })`;
  const found = await list(filter, `nodes { uniqueName parameter(name: "model.lr") { value } }`);
  const values = (name: string, value: unknown) => ({ uniqueName: name, parameter: { value } });
  const nodes = [values("ada.mnist.1", 0.1), values("ada.mnist.2", 0.3)];
  expect(found).toEqual({ data: { project: { experiments: { nodes } } } });
  const answer = await list(
    "",
    `nodes { parameters(names: ["model.lr", "model.b.1", "x"]) { name value } }
     summary {
       parameters { name count }
       breakdown(by: [{ parameter: "model.lr" }], metrics: []) { values count }
       importance(metric: "loss") { name count correlation }
     }`,
  );
  expect(answer).toMatchObject({ data: { project: { experiments: EXPECTED.names } } });
  const LIST = "GET ada/mnist/experiments";
  expect(calls()).toEqual([LIST, `${LIST}?limit=500`, WHOLE]);
  const table = await get("ada.mnist/runs.csv?columns=parameter.model.lr,parameter.model");
  expect(await table.text()).toBe(
    `parameter.model.lr,parameter.model\r\n0.1,"{""lr"":0.1,""b.1"":1}"\r\n0.3,"{""lr"":0.2}"\r\n,\r\n,7\r\n`,
  );
  const all = await (await get("ada.mnist/runs.csv")).text();
  expect(all.split("\r\n")[0]).toMatch(
    /,parameter\.model,parameter\.model\.b\.1,parameter\.model\.lr,metric\.loss$/,
  );
});

test("a breakdown counts runs without tag, user, group or parameter under null", async () => {
  const { list, calls } = await startRuns([
    row(1, { tags: [], user: null, experiment_group: "ada.mnist.7", declarations: null }),
    row(2, { tags: ["a", "a"], user: "ada", experiment_group: null, declarations: { lr: null } }),
    row(3, { tags: ["a"], user: "ada", experiment_group: null, declarations: { lr: 0.1 } }),
  ]);
  const keys = {
    tag: "property: TAG",
    user: "property: USER",
    group: "property: GROUP",
    lr: `parameter: "lr"`,
  };
  const breakdowns = Object.entries(keys).map(
    ([name, key]) => `${name}: breakdown(by: [{ ${key} }]) { values count }`,
  );
  const of = (value: string | number | null, count: number) => ({ values: [value], count });
  expect(await list("", `summary { ${breakdowns.join(" ")} }`)).toEqual(
    summaryOf({
      tag: [of("a", 2), of(null, 1)],
      user: [of("ada", 2), of(null, 1)],
      group: [of(null, 2), of("ada.mnist.groups.7", 1)],
      lr: [of(null, 2), of(0.1, 1)],
    }),
  );
  expect(calls()).toEqual([WHOLE]);
});

test("a breakdown by all five properties counts a run for each tag", async () => {
  const { list, calls } = await startRuns(EXPECTED.rows);
  const by = ["GROUP", "PHASE", "STATUS", "TAG", "USER"].map((property) => `{ property: ${property} }`);
  const { data } = await list("", `summary { breakdown(by: [${by.join(", ")}]) { values count } }`);
  const of = (...values: readonly (string | null)[]) => ({ values: [null, ...values], count: 1 });
  expect({ data }).toEqual(
    summaryOf({
      breakdown: [
        { values: [null, "SUCCEEDED", "SUCCEEDED", "a", "ada"], count: 2 },
        of("SUCCEEDED", "SUCCEEDED", "b", "ada"),
        of("FAILED", "FAILED", null, "bob"),
        of("ACTIVE", "RUNNING", null, "bob"),
        of("PENDING", "CREATED", null, "bob"),
      ],
    }),
  );
  expect(calls()).toEqual([WHOLE]);
});

test("a breakdown has the durations of ended and of active runs", async () => {
  const minutes = (start: number, end: number | null) => ({
    started_at: `2026-01-01T00:0${start}:00Z`,
    finished_at: end && `2026-01-01T00:0${end}:00Z`,
  });
  const rows = [
    row(1, { user: "ada", ...minutes(0, 1) }),
    row(2, { user: "ada", ...minutes(0, 3) }),
    row(3, { user: "ada", last_status: "created", started_at: null, finished_at: null }),
    row(4, { user: "bob", last_status: "running", ...minutes(1, null) }),
  ];
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1, 0, 9) });
  onTestFinished(() => void vi.useRealTimers());
  const { list, calls } = await startRuns(rows);
  const { data } = await list(
    "",
    `summary { breakdown(by: [{ property: USER }]) {
      values durationSeconds { name count leftOut mean standardDeviation min max median }
    } }`,
  );
  const name = "durationSeconds";
  const ended = { count: 2, leftOut: 1, mean: 120, min: 60, max: 180, median: 120 };
  // The time of the service continues while the test runs.
  const minutes8: unknown = expect.closeTo(480, -1);
  const active = { count: 1, leftOut: 0, mean: minutes8, min: minutes8, max: minutes8, median: minutes8 };
  expect({ data }).toEqual(
    summaryOf({
      breakdown: [
        { values: ["ada"], durationSeconds: { name, ...ended, standardDeviation: Math.sqrt(7_200) } },
        { values: ["bob"], durationSeconds: { name, ...active, standardDeviation: null } },
      ],
    }),
  );
  expect(calls()).toEqual([WHOLE]);
});

test("means, deviations and medians of extreme numbers are finite or null", async () => {
  const of = (...losses: number[]) => losses.map((loss, index) => row(index + 1, { last_metric: { loss } }));
  const statistics = async (rows: readonly object[]) => {
    const { list } = await startRuns(rows);
    return list("", "summary { metrics { mean standardDeviation median } }");
  };
  expect(await statistics(of(1e308, 1.5e308))).toEqual(
    summaryOf({
      metrics: [
        { mean: 1.25e308, standardDeviation: expect.closeTo(3.535533905932738e307, -294), median: 1.25e308 },
      ],
    }),
  );
  expect(await statistics(of(3, -1e308, 1e308))).toEqual(
    summaryOf({ metrics: [{ mean: expect.closeTo(0, -293), standardDeviation: 1e308, median: 3 }] }),
  );
  expect(await statistics(of(-1.7e308, 1.7e308))).toEqual(
    summaryOf({ metrics: [{ mean: 0, standardDeviation: null, median: 0 }] }),
  );
});

test("importance is a metric's rank correlation with each numeric parameter", async () => {
  const rows = [1, 2, 3, 4].map((id) =>
    row(id, {
      declarations: { lr: id, down: -id, same: 7, deep: id > 2, net: "cnn" },
      last_metric: { loss: id * id },
    }),
  );
  const { list } = await startRuns(rows);
  const importance = Object.entries({ down: -1, lr: 1, deep: expect.closeTo(0.894427191, 9), same: null });
  expect(await list("", `summary { importance(metric: "loss") { name count correlation } }`)).toEqual(
    summaryOf({ importance: importance.map(([name, correlation]) => ({ name, count: 4, correlation })) }),
  );
});

test("summaries beside a page share one full read of the list", async () => {
  const { list, calls } = await startRuns(EXPECTED.rows, { env: { MAX_PAGE_SIZE: "2" } });
  const { data } = await list(
    "(first: 1, order: { by: { field: CREATED_AT } })",
    `nodes { uniqueName } summary { scannedRows isComplete } again: summary { statuses { count } } part: summary(maxScannedRows: 3) { scannedRows total isComplete }`,
  );
  expect(data).toEqual({
    project: {
      experiments: {
        nodes: [{ uniqueName: "ada.mnist.1" }],
        summary: { scannedRows: 5, isComplete: true },
        again: { statuses: [{ count: 2 }, { count: 1 }, { count: 1 }, { count: 1 }] },
        part: { scannedRows: 3, total: 5, isComplete: false },
      },
    },
  });
  const sorted = "GET ada/mnist/experiments?sort=created_at%2C-updated_at";
  expect(calls().toSorted()).toEqual(
    [
      "GET ada/mnist/experiments?sort=-created_at%2C-updated_at&limit=1",
      `${sorted}&limit=2`,
      `${sorted}&limit=2&offset=2`,
      `${sorted}&limit=2&offset=4`,
      `${sorted}&limit=1&offset=2`,
    ].toSorted(),
  );
});

test("reads no page when only the summary is selected", async () => {
  const { list, calls } = await startRuns(EXPECTED.rows);
  const cursor = await list("(first: 2, order: { by: { field: CREATED_AT } })", "pageInfo { endCursor }");
  expect(cursor.errors).toBeUndefined();
  const after = JSON.stringify(listIn(cursor, "project.experiments").pageInfo.endCursor);
  const { data } = await list(
    `(first: 2, after: ${after}, order: { by: { field: CREATED_AT } })`,
    "summary { scannedRows }",
  );
  expect({ data }).toEqual(summaryOf({ scannedRows: 5 }));
  expect(calls().slice(1)).toEqual([WHOLE]);
});

test("a summary stops at the upstream request limit and is marked incomplete", async () => {
  const { list, calls } = await startRuns(EXPECTED.rows, {
    env: { MAX_PAGE_SIZE: "1", MAX_UPSTREAM_REQUESTS: "3" },
  });
  expect(await list("", "summary { scannedRows total isComplete }")).toEqual(
    summaryOf({ scannedRows: 3, total: 5, isComplete: false }),
  );
  expect(calls()).toHaveLength(3);
  const { list: poor } = await startRuns(EXPECTED.rows, { env: { MAX_UPSTREAM_REQUESTS: "1" } });
  expect((await poor("", "nodes { id } summary { scannedRows }")).errors).toHaveLength(1);
});

test("a summary truncates an overlong upstream page and is marked incomplete", async () => {
  const { list } = await startRuns([], {
    answer: () => ({ json: { count: 5, next: null, results: EXPECTED.rows } }),
  });
  expect(await list("", "summary(maxScannedRows: 3) { scannedRows total isComplete }")).toEqual(
    summaryOf({ scannedRows: 3, total: 5, isComplete: false }),
  );
});

test("a failure midway is an error, not a shorter summary", async () => {
  const { list } = await startRuns(EXPECTED.rows, {
    env: { MAX_PAGE_SIZE: "2" },
    answer: ({ path }) => (path.includes("offset=2") ? { status: 403, json: {} } : undefined),
  });
  const answer = await list("", "summary { scannedRows }");
  expect(answer).toMatchObject(summaryOf(null));
  expect(answer.errors).toMatchObject([
    { path: ["project", "experiments", "summary"], extensions: { code: "FORBIDDEN" } },
  ]);
});

test.each([
  ["metrics", "last_metric", `best(metric: "loss", direction: ASC) { id }`],
  ["parameters", "declarations", `breakdown(by: [{ parameter: "lr" }]) { count }`],
  ["durations", "started_at", `breakdown(by: [{ property: USER }]) { durationSeconds { mean } }`],
])("statistics fail if rows have no %s", async (of, key, fields) => {
  const profile = profileFile(`extends: polyaxon-0.4\nomittedInLists: {experiments: [${key}]}`);
  const { list } = await startRuns(EXPECTED.rows, { env: { UPSTREAM_PROFILE: profile } });
  const { errors } = outcomeOf(await list("", `summary { ${fields} }`));
  expect(errors).toMatchObject([
    { code: "CAPABILITY_UNAVAILABLE", message: expect.stringContaining(`statistics of ${of} in lists`) },
  ]);
});

test.each(REFUSED)("$field is refused", async ({ field, path, message }) => {
  const { list } = await startRuns(EXPECTED.rows);
  const { errors } = outcomeOf(await list("", field));
  expect(errors).toEqual([failure(`project.experiments.${path}`, "BAD_USER_INPUT", message)]);
});
