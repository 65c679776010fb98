import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { type Listed, listIn } from "../support/listed.ts";
import { profileFile } from "../support/tracker.ts";
import { startRows } from "./rows.ts";

/*
 * What the language of servers cannot say is found by a scan of the list, which tells how much it read and never counts what it
 * did not read: parameters that are no texts, and texts with signs of the language.
 */

/** Runs that have these parameters. */
const startRuns = (declarations: readonly unknown[], env: Record<string, string> = {}) =>
  startRows(
    declarations.map((each, index) => ({ id: index + 1, ...(each !== undefined && { declarations: each }) })),
    env,
  );

const LIST = `query ($filter: RunFilter, $first: Int, $after: String, $offset: Int) {
  project(id: "ada.mnist") { experiments(filter: $filter, first: $first, after: $after, offset: $offset) {
    nodes { internalId } totalCount scan { rowsRead isComplete } pageInfo { hasNextPage endCursor }
  } }
}`;

type Asking = Awaited<ReturnType<typeof startRows>>["ask"];

const pageOf = async (ask: Asking, variables: object): Promise<Listed> =>
  listIn(await ask(LIST, variables), "project.experiments");

const idsOf = ({ nodes }: Listed) => nodes.map(({ internalId }) => Number(internalId));

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
    const { ask, service } = await startRuns(rows);
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
  const { ask, service } = await startRuns([{ act: "relu", lr: 0.1 }]);
  const act = { name: "act", values: ["relu"] };
  const narrowed = { statuses: ["RUNNING"], declarations: [act, { name: "lr", values: ["0.1"] }] };
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

describe("texts and names that the server cannot be told are compared here", () => {
  const rows = [
    { name: "a,b", user: "m.curie", tags: ["lr:0.1", "x"], last_status: "a|b" },
    { name: null, user: null, tags: null, last_status: "failed" },
    { name: " a", user: "~x", tags: ["x", "a..b"], last_status: "a" },
  ].map((row, index) => ({
    id: index + 1,
    ...row,
    declarations: index === 1 ? null : { "model.lr": "a:b", range: "x", "a|b": index },
    last_metric: index === 1 ? null : { "val.loss": index, "a, b": "NaN", top__5: 2 - index },
  }));
  test.each<[filter: object, ids: number[], compared: string, said?: string | null]>([
    [{ names: ["a,b", "x"] }, [1], "names"],
    [{ names: [" a"] }, [3], "names"],
    [{ notNames: ["a,b"] }, [2, 3], "notNames"],
    [{ users: ["~x"] }, [3], "users"],
    [{ rawStatuses: ["a|b"] }, [1], "rawStatuses"],
    [{ tags: ["lr:0.1", "a..b"] }, [1, 3], "tags"],
    [{ allTags: ["x", "a..b"] }, [3], "allTags", "tags:x"],
    [{ notTags: ["lr:0.1"], statuses: ["FAILED"] }, [2, 3], "notTags", "status:failed"],
    [{ metrics: [{ name: "val.loss", atLeast: 1 }] }, [3], "metrics[0]"],
    [{ metrics: [{ name: "val.loss" }, { name: "top__5", lessThan: 2 }] }, [3], "metrics[0]|metrics[1]"],
    [{ metrics: [{ name: "a, b" }] }, [], "metrics[0]"],
    [{ declarations: [{ name: "model.lr", values: ["a:b"] }] }, [1, 3], "declarations[0]"],
    [{ declarations: [{ name: "range", values: ["x"] }] }, [1, 3], "declarations[0]"],
    [{ declarations: [{ name: "a|b", atLeast: 1 }] }, [3], "declarations[0]"],
  ])("%j", async (filter, ids, compared, said = null) => {
    const { ask, filters, service } = await startRows(rows, { EXPLAIN: "on" });
    const answer = await ask(LIST, { filter }, { headers: { "x-rungraph-explain": "1" } });
    const page = listIn(answer, "project.experiments");
    expect(idsOf(page)).toEqual(ids);
    expect(page).toMatchObject({ totalCount: ids.length, scan: { rowsRead: 3, isComplete: true } });
    expect(filters()).toEqual([said]);
    expect(service.seen()[0]?.path).toMatch(/&limit=500$/);
    const { extensions } = answer as unknown as { extensions: { explain: { scans: object[] } } };
    expect(extensions.explain.scans).toEqual([
      {
        fields: ["project.experiments"],
        moreFields: 0,
        compared: compared.split("|").map((each) => `filter.${each}`),
        rows: 3,
      },
    ]);
  });
});

test("a scan that reaches its bound tells so, counts nothing, and goes on behind its cursor", async () => {
  const rows = Array.from({ length: 10 }, (_, index) => ({ lr: index === 6 ? 0.1 : 0.2 }));
  const { ask, service } = await startRuns(rows, { MAX_SCANNED_ROWS: "4", MAX_PAGE_SIZE: "3" });
  const filter = { declarations: { name: "lr", values: ["0.1"] } };
  const first = await pageOf(ask, { filter });
  expect(first).toEqual({
    nodes: [],
    totalCount: null,
    scan: { rowsRead: 4, isComplete: false },
    pageInfo: { hasNextPage: true, endCursor: expect.any(String) },
  });
  const second = await pageOf(ask, { filter, after: first.pageInfo.endCursor });
  expect(second).toMatchObject({ nodes: [{ internalId: "7" }], totalCount: null, scan: { rowsRead: 4 } });
  const last = await pageOf(ask, { filter, after: second.pageInfo.endCursor });
  expect(last).toMatchObject({ nodes: [], totalCount: null, scan: { rowsRead: 2, isComplete: true } });
  expect(service.inOrder()).toEqual(
    ["3", "1&offset=3", "3&offset=4", "1&offset=7", "3&offset=8"].map(
      (page) => `GET ada/mnist/experiments?limit=${page}`,
    ),
  );
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
        const { ask } = await startRuns(
          values.map((lr) => ({ lr })),
          { UPSTREAM_PROFILE: profile, MAX_SCANNED_ROWS: `${rows}`, MAX_PAGE_SIZE: `${size}` },
        );
        const found: number[] = [];
        const counts = new Set<number | null>();
        let after: string | null = null;
        let rowsRead = 0;
        do {
          const page: Listed = await pageOf(ask, {
            filter: { declarations: { name: "lr", values: ["1"] } },
            first: first === null ? null : Math.min(first, size),
            after,
          });
          found.push(...idsOf(page));
          rowsRead += page.scan?.rowsRead ?? 0;
          counts.add(page.totalCount);
          after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
        } while (after !== null);
        expect(found).toEqual(values.flatMap((lr, index) => (`${lr}` === "1" ? [index + 1] : [])));
        expect([...counts].filter((count) => count !== null && count !== found.length)).toEqual([]);
        expect(rowsRead).toBeGreaterThanOrEqual(values.length);
      },
    ),
    { numRuns: cases(15, 100) },
  );
});

test("a scan of a group that matches nothing does not ask whether the group exists, because it has rows", async () => {
  const { ask, service } = await startRuns([{ lr: 2 }]);
  const query = `{ group(id: "ada.mnist.1") { experiments(filter: { declarations: { name: "lr", atMost: 1 } }) { totalCount } } }`;
  expect(await ask(query)).toEqual({ data: { group: { experiments: { totalCount: 0 } } } });
  expect(service.inOrder()).toEqual(["GET ada/mnist/experiments?group=1&limit=500"]);
});

const wanted = (text: string) => ({ filter: { declarations: [{ name: "lr", values: [text] }] } });

test("a row that does not tell its parameters is an error, not a run that does not match", async () => {
  const { ask } = await startRuns([{ lr: 1 }, undefined]);
  const message = "A row of the service's list lacks `declarations`.";
  expect(outcomeOf(await ask(LIST, wanted("1")))).toEqual({
    data: { project: { experiments: null } },
    errors: [failure("project.experiments", "UPSTREAM_BAD_RESPONSE", message)],
  });
});

test("a scan holds to the upstream requests of its operation", async () => {
  const rows = Array.from({ length: 10 }, () => ({ lr: 2 }));
  const { ask, calls } = await startRuns(rows, { MAX_PAGE_SIZE: "2", MAX_UPSTREAM_REQUESTS: "3" });
  expect(errorsOf(await ask(LIST, wanted("1")))).toMatchObject([{ code: "REQUEST_LIMIT_EXCEEDED" }]);
  expect(calls()).toHaveLength(3);
});
