import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { errorsOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { startProfile } from "../support/profiles.ts";
import { subscribe } from "../support/subscriber.ts";
import { profileFile } from "../support/tracker.ts";

/*
 * Servers compare parameters with texts only. Other values are found by a scan of the list, which tells how much it read and
 * never counts what it did not read.
 */

/** A server that pages by offset or number, with runs that have these parameters. */
async function startRows(declarations: readonly unknown[], env: Record<string, string> = {}) {
  const service = await startFake(({ path }) => {
    const params = new URL(path, "http://service").searchParams;
    const limit = Number(params.get("limit") ?? 20);
    const offset = Number(params.get("offset") ?? (Number(params.get("page") ?? 1) - 1) * limit);
    const rows = declarations.map((each, index) => ({
      id: index + 1,
      ...(each === undefined ? {} : { declarations: each }),
    }));
    const results = rows.slice(offset, offset + limit);
    return { json: { count: rows.length, next: null, results } };
  });
  const gateway = await startGateway({
    upstream: service,
    env: { UPSTREAM_PROFILE: "polyaxon-0.4", ...env },
  });
  return { ...gateway, service };
}

interface Page {
  readonly nodes: readonly { readonly internalId: string }[];
  readonly totalCount: number | null;
  readonly scan: { readonly rowsRead: number; readonly isComplete: boolean } | null;
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}
interface Found {
  readonly project: { readonly experiments: Page | null };
}

const LIST = `query ($filter: ExperimentFilter, $first: Int, $after: String, $offset: Int) {
  project(owner: "ada", name: "mnist") { experiments(filter: $filter, first: $first, after: $after, offset: $offset) {
    nodes { internalId } totalCount scan { rowsRead isComplete } pageInfo { hasNextPage endCursor }
  } }
}`;

type Asking = Awaited<ReturnType<typeof startRows>>["ask"];

const pageOf = async (ask: Asking, variables: object): Promise<Page | null> =>
  (await ask<Found, object>(LIST, variables)).data.project.experiments;

const idsOf = (page: Page | null) => page?.nodes.map(({ internalId }) => Number(internalId));

describe("parameters are compared with", () => {
  const rows = [
    { dropout: 0.5, act: "relu", flag: true, layers: [64, 32] },
    { dropout: 0.25, act: "tanh", flag: false, layers: [64] },
    { dropout: "0.5", act: "0.5", flag: "true", layers: "[64, 32]" },
    { dropout: 1, act: "sigmoid", nothing: null },
    null,
    {},
  ];
  test.each([
    ["a number", { name: "dropout", values: ["0.5"] }, [1, 3]],
    ["a number in another spelling", { name: "dropout", values: ["5e-1", "1.0"] }, [1, 4]],
    ["a boolean", { name: "flag", values: ["true"] }, [1, 3]],
    ["a list", { name: "layers", values: ["[64,32]"] }, [1]],
    ["null", { name: "nothing", values: ["null"] }, [4]],
    ["texts and numbers", { name: "act", values: ["tanh", "0.5"] }, [2, 3]],
    ["a bound", { name: "dropout", atLeast: 0.5 }, [1, 4]],
    ["bounds", { name: "dropout", greaterThan: 0.25, lessThan: 1 }, [1]],
    ["a bound and values", { name: "dropout", atMost: 0.5, values: ["0.25", "1"] }, [2]],
    ["what no run has", { name: "constructor", values: ["1"] }, []],
  ])("%s", async (_, declarations, ids) => {
    const { ask, service } = await startRows(rows);
    const page = await pageOf(ask, { filter: { declarations } });
    expect(idsOf(page)).toEqual(ids);
    expect(page).toMatchObject({
      totalCount: ids.length,
      scan: { rowsRead: 6, isComplete: true },
      pageInfo: { hasNextPage: false },
    });
    expect(service.inOrder()).toEqual(["GET ada/mnist/experiments?limit=500"]);
  });
});

test("what the server can compare narrows the scan, and texts alone need none", async () => {
  const { ask, service } = await startRows([{ act: "relu", lr: 0.1 }]);
  const act = { name: "act", values: ["relu"] };
  const narrowed = { status: ["RUNNING"], declarations: [act, { name: "lr", values: ["0.1"] }] };
  expect(await pageOf(ask, { filter: narrowed })).toMatchObject({
    nodes: [{ internalId: "1" }],
    scan: { rowsRead: 1, isComplete: true },
  });
  expect(await pageOf(ask, { filter: { declarations: [act] } })).toMatchObject({ totalCount: 1, scan: null });
  const query = (text: string) => `query=${encodeURIComponent(text)}`;
  expect(service.inOrder()).toEqual([
    `GET ada/mnist/experiments?${query("status:running,declarations.act:relu")}&limit=500`,
    `GET ada/mnist/experiments?${query("declarations.act:relu")}`,
  ]);
});

test("a scan that reaches its bound tells so, counts nothing, and goes on behind its cursor", async () => {
  const rows = Array.from({ length: 10 }, (_, index) => ({ lr: index === 6 ? 0.1 : 0.2 }));
  const { ask, service } = await startRows(rows, { MAX_SCANNED_ROWS: "4", MAX_PAGE_SIZE: "3" });
  const filter = { declarations: { name: "lr", values: ["0.1"] } };
  const first = await pageOf(ask, { filter });
  expect(first).toEqual({
    nodes: [],
    totalCount: null,
    scan: { rowsRead: 4, isComplete: false },
    pageInfo: { hasNextPage: true, endCursor: expect.any(String) },
  });
  const second = await pageOf(ask, { filter, after: first?.pageInfo.endCursor });
  expect(second).toMatchObject({
    nodes: [{ internalId: "7" }],
    totalCount: null,
    scan: { rowsRead: 4, isComplete: false },
    pageInfo: { hasNextPage: true },
  });
  expect(await pageOf(ask, { filter, after: second?.pageInfo.endCursor })).toMatchObject({
    nodes: [],
    totalCount: null,
    scan: { rowsRead: 2, isComplete: true },
    pageInfo: { hasNextPage: false, endCursor: null },
  });
  const list = "GET ada/mnist/experiments?limit=";
  expect(service.inOrder()).toEqual([
    `${list}3`,
    `${list}1&offset=3`,
    `${list}3&offset=4`,
    `${list}1&offset=7`,
    `${list}3&offset=8`,
  ]);
});

test("a walk by scans of any size gives each match once and in order, whatever the size of pages", async () => {
  const paging = fc.constantFrom<object>(
    { by: "offset", parameter: "offset", size: "limit" },
    { by: "offset", parameter: "offset", size: "limit", maxSize: 2 },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(1, 2, "1", null), { maxLength: 12 }),
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 5 }),
      fc.option(fc.integer({ min: 1, max: 3 })),
      paging,
      async (values, rows, size, first, by) => {
        const profile = profileFile(JSON.stringify({ extends: "polyaxon-0.4", paging: by }));
        const { ask } = await startRows(
          values.map((lr) => ({ lr })),
          { UPSTREAM_PROFILE: profile, MAX_SCANNED_ROWS: `${rows}`, MAX_PAGE_SIZE: `${size}` },
        );
        const found: number[] = [];
        const counts = new Set<number | null>();
        let after: string | null = null;
        let rowsRead = 0;
        do {
          const page: Page | null = await pageOf(ask, {
            filter: { declarations: { name: "lr", values: ["1"] } },
            first: first === null ? null : Math.min(first, size),
            after,
          });
          found.push(...(idsOf(page) ?? []));
          rowsRead += page?.scan?.rowsRead ?? 0;
          counts.add(page?.totalCount ?? null);
          after = page?.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
        } while (after !== null);
        expect(found).toEqual(values.flatMap((lr, index) => (`${lr}` === "1" ? [index + 1] : [])));
        expect([...counts].filter((count) => count !== null && count !== found.length)).toEqual([]);
        expect(rowsRead).toBeGreaterThanOrEqual(values.length);
      },
    ),
    { numRuns: cases(15, 300) },
  );
});

test("a scan of a group that matches nothing does not ask whether the group exists, because it has rows", async () => {
  const { ask, service } = await startRows([{ lr: 2 }]);
  const query = `{ group(id: "ada.mnist.1") { experiments(filter: { declarations: { name: "lr", atMost: 1 } }) { totalCount } } }`;
  expect(await ask(query)).toEqual({ data: { group: { experiments: { totalCount: 0 } } } });
  expect(service.inOrder()).toEqual(["GET ada/mnist/experiments?group=1&limit=500"]);
});

test("`first` ends a scan, and what was read behind it is not counted or lost", async () => {
  const { ask, service } = await startRows([{ lr: 1 }, { lr: 2 }, { lr: 1 }, { lr: 1 }]);
  const filter = { declarations: { name: "lr", atMost: 1 } };
  const page = await pageOf(ask, { filter, first: 2 });
  expect(page).toMatchObject({ totalCount: 3, pageInfo: { hasNextPage: true } });
  expect(idsOf(page)).toEqual([1, 3]);
  expect(idsOf(await pageOf(ask, { filter, first: 2, after: page?.pageInfo.endCursor }))).toEqual([4]);
  expect(service.inOrder()).toEqual([
    "GET ada/mnist/experiments?limit=500",
    "GET ada/mnist/experiments?limit=500&offset=3",
  ]);
});

describe("where neither the server nor its rows can tell, nothing is sent:", () => {
  const number = { declarations: [{ name: "lr", values: ["0.1"] }] };
  test.each([
    [
      "rows without parameters",
      profileFile(
        JSON.stringify({ extends: "polyaxon-0.4", omittedInLists: { experiments: ["declarations"] } }),
      ),
      { filter: number },
      "CAPABILITY_UNAVAILABLE",
      "The server behind this gateway does not offer filters by parameters other than texts. `gateway.capabilities` tells what there is.",
    ],
    [
      "an offset, which counts rows and not matches",
      "polyaxon-0.4",
      { filter: number, offset: 2 },
      "BAD_USER_INPUT",
      "offset: expected none where the gateway scans the list",
    ],
    [
      "a parameter without values",
      "polyaxon-0.4",
      { filter: { declarations: [{ name: "lr" }] } },
      "BAD_USER_INPUT",
      "filter.declarations[0]: expected at least one of `values` or a bound, got none",
    ],
    [
      "a value that is too long",
      "polyaxon-0.4",
      { filter: { declarations: [{ name: "lr", values: [`[${"1,".repeat(1_000)}1]`] }] } },
      "BAD_USER_INPUT",
      "filter.declarations[0].values: expected at most 2000 characters, got 2003",
    ],
  ])("%s", async (_, UPSTREAM_PROFILE, variables, code, message) => {
    const { ask, service } = await startRows([{ lr: 0.1 }], { UPSTREAM_PROFILE });
    const answer = await ask(LIST, variables);
    expect(answer.data).toEqual({ project: { experiments: null } });
    expect(errorsOf(answer)).toEqual([{ at: "project.experiments", code, message }]);
    expect(service.calls()).toEqual([]);
  });

  test("a bound without end", async () => {
    const { ask, service } = await startRows([{ lr: 0.1 }]);
    const filter = `{ declarations: [{ name: "lr", atMost: 1e999 }] }`;
    const answer = await ask(
      `{ project(owner: "ada", name: "mnist") { experiments(filter: ${filter}) { totalCount } } }`,
    );
    expect(errorsOf(answer)).toMatchObject([
      { message: "filter.declarations[0].atMost: expected a finite number, got Infinity" },
    ]);
    expect(service.calls()).toEqual([]);
  });

  test("a subscription", async () => {
    const { url, service } = await startRows([{ lr: 0.1 }]);
    const watcher = await subscribe(url, {
      query: `subscription ($of: ID!, $filter: ExperimentFilter) { runsUpdated(of: $of, filter: $filter) { reason } }`,
      variables: { of: globalId("Project:ada/mnist"), filter: number },
    });
    expect(await watcher.next()).toMatchObject({
      errors: [
        {
          message:
            "filter.declarations: expected texts, because a subscription leaves the filter to the server, which compares nothing else",
          extensions: { code: "BAD_USER_INPUT" },
        },
      ],
    });
    expect(service.calls()).toEqual([]);
  });
});

test("a row that does not tell its parameters is an error, not a run that does not match", async () => {
  const { ask } = await startRows([{ lr: 1 }, undefined]);
  const answer = await ask(LIST, { filter: { declarations: { name: "lr", values: ["1"] } } });
  expect(answer.data).toEqual({ project: { experiments: null } });
  expect(errorsOf(answer)).toEqual([
    {
      at: "project.experiments",
      code: "UPSTREAM_BAD_RESPONSE",
      message: "A row of the service's list lacks `declarations`.",
    },
  ]);
});

test("a scan holds to the upstream requests of its operation", async () => {
  const { ask, service } = await startRows(
    Array.from({ length: 10 }, () => ({ lr: 2 })),
    {
      MAX_PAGE_SIZE: "2",
      MAX_UPSTREAM_REQUESTS: "3",
    },
  );
  const answer = await ask(LIST, { filter: { declarations: { name: "lr", values: ["1"] } } });
  expect(answer.data).toEqual({ project: { experiments: null } });
  expect(errorsOf(answer)).toMatchObject([{ at: "project.experiments", code: "REQUEST_LIMIT_EXCEEDED" }]);
  expect(service.calls()).toHaveLength(3);
});

test("the demo's experiments are found by their learning rate, as the rows show it", async () => {
  const { ask } = await startProfile();
  const query = `query ($filter: ExperimentFilter) { group(id: "ada.mnist.1") { experiments(first: 100, filter: $filter) {
    totalCount nodes { declarations }
  } } }`;
  interface Rows {
    group: { experiments: { totalCount: number; nodes: { declarations: { lr: number } }[] } };
  }
  const all = (await ask<Rows, object>(query, {})).data.group.experiments.nodes;
  const bound = all[0]?.declarations.lr ?? 0;
  const expected = all.filter(({ declarations: { lr } }) => lr >= bound);
  expect(expected.length).toBeGreaterThan(0);
  const filter = { declarations: { name: "lr", atLeast: bound } };
  expect((await ask<Rows, object>(query, { filter })).data.group.experiments).toEqual({
    totalCount: expected.length,
    nodes: expected,
  });
});
