import { expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { row, pageOf } from "../support/exported.ts";
import { type Seen, startFake, type Told } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

/** A gateway before a service with these experiments of `ada/mnist`. */
async function startRuns(
  rows: readonly object[],
  { env = {}, answer }: { env?: Record<string, string>; answer?: (seen: Seen) => Told | undefined } = {},
) {
  const service = await startFake((seen) => answer?.(seen) ?? pageOf(rows, seen));
  const { ask } = await startGateway({
    upstream: service,
    env: { UPSTREAM_PROFILE: "polyaxon-0.4", ...env },
  });
  const list = (args: string, fields: string) =>
    ask(`{ project(owner: "ada", name: "mnist") { experiments${args} { ${fields} } } }`);
  return { list, calls: service.calls };
}

const ROWS = [
  row(1, {
    last_status: "succeeded",
    user: "ada",
    tags: ["a", "b"],
    declarations: { lr: 0.1, seed: 1, net: "cnn" },
    last_metric: { loss: 1, note: "x" },
  }),
  row(2, {
    last_status: "succeeded",
    user: "ada",
    tags: ["a"],
    declarations: { lr: 0.1, seed: 2, net: "cnn" },
    last_metric: { loss: 2, note: "y" },
  }),
  row(3, {
    last_status: "failed",
    user: "bob",
    tags: null,
    declarations: { lr: 0.01, seed: 1, net: "cnn" },
    last_metric: { loss: "NaN" },
  }),
  row(4, {
    last_status: "running",
    user: "bob",
    tags: [],
    declarations: { lr: 0.01, seed: 2, net: "cnn", deep: true },
    last_metric: { loss: 1 },
  }),
  row(5, { last_status: "created", user: "bob", declarations: null, last_metric: null }),
];

interface Paged {
  readonly project: { readonly experiments: { readonly pageInfo: { readonly endCursor: string } } };
}

const WHOLE = "GET ada/mnist/experiments?sort=created_at%2C-updated_at&limit=500";

test("a summary alone is one request, and tells statuses, parameters, metrics and the best", async () => {
  const { list, calls } = await startRuns(ROWS);
  const answer = await list(
    "",
    `summary {
      scanned total isComplete
      statuses { status count }
      parameters { name count distinctCount values { value count } min max }
      metrics { name count leftOut mean standardDeviation min max median }
      best(metric: "loss", direction: ASC) { uniqueName }
      worst: best(metric: "loss", direction: DESC) { uniqueName }
      none: best(metric: "note", direction: DESC) { uniqueName }
    }`,
  );
  expect(answer).toEqual({
    data: {
      project: {
        experiments: {
          summary: {
            scanned: 5,
            total: 5,
            isComplete: true,
            statuses: [
              { status: "SUCCEEDED", count: 2 },
              { status: "FAILED", count: 1 },
              { status: "RUNNING", count: 1 },
              { status: "CREATED", count: 1 },
            ],
            parameters: [
              {
                name: "deep",
                count: 1,
                distinctCount: 1,
                values: [{ value: true, count: 1 }],
                min: null,
                max: null,
              },
              {
                name: "lr",
                count: 4,
                distinctCount: 2,
                values: [
                  { value: 0.1, count: 2 },
                  { value: 0.01, count: 2 },
                ],
                min: 0.01,
                max: 0.1,
              },
              {
                name: "net",
                count: 4,
                distinctCount: 1,
                values: [{ value: "cnn", count: 4 }],
                min: null,
                max: null,
              },
              {
                name: "seed",
                count: 4,
                distinctCount: 2,
                values: [
                  { value: 1, count: 2 },
                  { value: 2, count: 2 },
                ],
                min: 1,
                max: 2,
              },
            ],
            metrics: [
              {
                name: "loss",
                count: 3,
                leftOut: 1,
                mean: 4 / 3,
                standardDeviation: Math.sqrt(1 / 3),
                min: 1,
                max: 2,
                median: 1,
              },
              {
                name: "note",
                count: 0,
                leftOut: 2,
                mean: null,
                standardDeviation: null,
                min: null,
                max: null,
                median: null,
              },
            ],
            best: { uniqueName: "ada.mnist.1" },
            worst: { uniqueName: "ada.mnist.2" },
            none: null,
          },
        },
      },
    },
  });
  expect(calls()).toEqual([WHOLE]);
});

test("groups are told by parameter, status, user and tag, with statistics of each", async () => {
  const { list, calls } = await startRuns(ROWS.slice(0, 4));
  const { data, errors } = await list(
    "",
    `summary {
      lr: groups(by: ["lr"], metrics: ["loss"]) { values { name value } count statuses { status count } metrics { name mean count leftOut } }
      tag: groups(by: ["tag", "user"], metrics: []) { values { value } count metrics { name } }
      named: groups(by: ["param.lr", "status"], metrics: []) { count }
    }`,
  );
  expect(errors).toBeUndefined();
  expect(data).toEqual({
    project: {
      experiments: {
        summary: {
          lr: [
            {
              values: [{ name: "lr", value: 0.1 }],
              count: 2,
              statuses: [{ status: "SUCCEEDED", count: 2 }],
              metrics: [{ name: "loss", mean: 1.5, count: 2, leftOut: 0 }],
            },
            {
              values: [{ name: "lr", value: 0.01 }],
              count: 2,
              statuses: [
                { status: "FAILED", count: 1 },
                { status: "RUNNING", count: 1 },
              ],
              metrics: [{ name: "loss", mean: 1, count: 1, leftOut: 1 }],
            },
          ],
          tag: [
            { values: [{ value: "a" }, { value: "ada" }], count: 2, metrics: [] },
            { values: [{ value: null }, { value: "bob" }], count: 2, metrics: [] },
            { values: [{ value: "b" }, { value: "ada" }], count: 1, metrics: [] },
          ],
          named: [{ count: 2 }, { count: 1 }, { count: 1 }],
        },
      },
    },
  });
  expect(calls()).toEqual([WHOLE]);
});

test("runs are counted by group, also beside a parameter of this name", async () => {
  const rows = [
    { ...ROWS[0], experiment_group: "ada.mnist.7", declarations: { group: "control" } },
    { ...ROWS[1], experiment_group: null },
  ];
  const { list } = await startRuns(rows);
  const group = (name: string) => `groups(by: ["${name}"], metrics: []) { values { name value } }`;
  const { data, errors } = await list(
    "",
    `summary { runs: ${group("group")} named: ${group("param.group")} }`,
  );
  const values = (name: string, own: string) => [
    { values: [{ name, value: own }] },
    { values: [{ name, value: null }] },
  ];
  expect({ data, errors }).toMatchObject({
    data: {
      project: {
        experiments: {
          summary: { runs: values("group", "ada.mnist.7"), named: values("param.group", "control") },
        },
      },
    },
  });
});

test("names that every object has are names like others", async () => {
  const { list } = await startRuns(ROWS.slice(0, 1));
  const { data, errors } = await list(
    "",
    `summary {
      groups(by: ["__proto__", "constructor"]) { count values { name value } }
      importance(metric: "__proto__") { name }
      best(metric: "constructor", direction: ASC) { uniqueName }
    }`,
  );
  expect(errors).toBeUndefined();
  expect(data).toEqual({
    project: {
      experiments: {
        summary: {
          groups: [
            {
              count: 1,
              values: [
                { name: "__proto__", value: null },
                { name: "constructor", value: null },
              ],
            },
          ],
          importance: [],
          best: null,
        },
      },
    },
  });
});

test("importance is the rank correlation of a metric with each parameter that has numbers", async () => {
  const rows = [1, 2, 3, 4].map((id) =>
    row(id, {
      declarations: { lr: id, down: -id, same: 7, deep: id > 2, net: "cnn" },
      last_metric: { loss: id * id },
    }),
  );
  const { list } = await startRuns(rows);
  const { data } = await list("", `summary { importance(metric: "loss") { name count correlation } }`);
  expect(data).toEqual({
    project: {
      experiments: {
        summary: {
          importance: [
            { name: "down", count: 4, correlation: -1 },
            { name: "lr", count: 4, correlation: 1 },
            { name: "deep", count: 4, correlation: expect.closeTo(0.894427191, 9) },
            { name: "same", count: 4, correlation: null },
          ],
        },
      },
    },
  });
});

test("a page and two summaries read the list in its order and once as a whole", async () => {
  const { list, calls } = await startRuns(ROWS, { env: { MAX_PAGE_SIZE: "2" } });
  const { data } = await list(
    "(first: 1, orderBy: CREATED_DESC)",
    `nodes { uniqueName } summary { scanned isComplete } again: summary { statuses { count } } part: summary(scan: 3) { scanned total isComplete }`,
  );
  expect(data).toEqual({
    project: {
      experiments: {
        nodes: [{ uniqueName: "ada.mnist.1" }],
        summary: { scanned: 5, isComplete: true },
        again: { statuses: [{ count: 2 }, { count: 1 }, { count: 1 }, { count: 1 }] },
        part: { scanned: 3, total: 5, isComplete: false },
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

test("the page that the arguments name is not read where only figures are selected", async () => {
  const { list, calls } = await startRuns(ROWS);
  const cursor = await list("(first: 2, orderBy: CREATED_DESC)", "pageInfo { endCursor }");
  expect(cursor.errors).toBeUndefined();
  const after = JSON.stringify((cursor.data as Paged).project.experiments.pageInfo.endCursor);
  const { data } = await list(`(first: 2, after: ${after}, orderBy: CREATED_DESC)`, "summary { scanned }");
  expect(data).toEqual({ project: { experiments: { summary: { scanned: 5 } } } });
  expect(calls().slice(1)).toEqual([WHOLE]);
});

test("a filter by numbers is also that of the figures", async () => {
  const { list, calls } = await startRuns(ROWS.slice(0, 4));
  const { data } = await list(
    `(filter: { declarations: [{ name: "lr", lessThan: 0.05 }] })`,
    "summary { scanned total isComplete statuses { status } }",
  );
  expect(data).toEqual({
    project: {
      experiments: {
        summary: {
          scanned: 2,
          total: 2,
          isComplete: true,
          statuses: [{ status: "FAILED" }, { status: "RUNNING" }],
        },
      },
    },
  });
  expect(calls()).toEqual([WHOLE]);
});

test("ends at the limit of upstream requests, and says so", async () => {
  const { list, calls } = await startRuns(ROWS, { env: { MAX_PAGE_SIZE: "1", MAX_UPSTREAM_REQUESTS: "3" } });
  const { data, errors } = await list("", "summary { scanned total isComplete }");
  expect(errors).toBeUndefined();
  expect(data).toEqual({
    project: { experiments: { summary: { scanned: 3, total: 5, isComplete: false } } },
  });
  expect(calls()).toHaveLength(3);
});

test("a failure in the middle is an error, no shorter summary", async () => {
  const { list } = await startRuns(ROWS, {
    env: { MAX_PAGE_SIZE: "2" },
    answer: ({ path }) => (path.includes("offset=2") ? { status: 403, json: {} } : undefined),
  });
  const answer = await list("", "summary { scanned }");
  expect(answer.data).toEqual({ project: { experiments: { summary: null } } });
  expect(answer.errors).toMatchObject([
    { path: ["project", "experiments", "summary"], extensions: { code: "FORBIDDEN" } },
  ]);
});

test.each([
  ["summary(scan: 0) { scanned }", "summary", "scan: expected 1 to 10000, got 0"],
  [
    "summary { groups(by: []) { count } }",
    "summary.groups",
    `by: expected 1 to 5 different names, such as ["lr", "status"], got 0`,
  ],
  [
    `summary { groups(by: ["lr", "lr"]) { count } }`,
    "summary.groups",
    `by: expected 1 to 5 different names, such as ["lr", "status"], got 2`,
  ],
])("%s is refused", async (field, path, message) => {
  const { list } = await startRuns(ROWS);
  const { errors } = outcomeOf(await list("", field));
  expect(errors).toEqual([failure(`project.experiments.${path}`, "BAD_USER_INPUT", message)]);
});
