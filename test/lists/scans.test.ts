import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { type Listed, listIn } from "../support/listed.ts";
import { profileFile } from "../support/tracker.ts";
import { startRows } from "./rows.ts";
import COMPARED from "./compared.json" with { type: "json" };

/*
 * A scan of a list tests conditions that the query language of servers cannot express: parameters that are not strings, and strings with
 * operators. The scan reports how many rows it has read, and never counts rows that it has not read.
 */

/** Runs with these parameters. */
const startRuns = (declarations: readonly unknown[], env: Record<string, string> = {}) =>
  startRows(
    declarations.map((each, index) => ({ id: index + 1, ...(each !== undefined && { declarations: each }) })),
    env,
  );

const LIST = `query ($filter: RunFilter, $first: Int, $after: String, $offset: Int) {
  project(id: "ada.mnist") { experiments(filter: $filter, first: $first, after: $after, offset: $offset) {
    nodes { internalId } totalCount scan { scannedRows isComplete } pageInfo { hasNextPage endCursor }
  } }
}`;

type Asking = Awaited<ReturnType<typeof startRows>>["ask"];

const pageOf = async (ask: Asking, variables: object): Promise<Listed> =>
  listIn(await ask(LIST, variables), "project.experiments");

const idsOf = ({ nodes }: Listed) => nodes.map(({ internalId }) => Number(internalId));

describe("parameters are compared with", () => {
  const { rows, cases: compared } = COMPARED.parameters;
  test.each(compared)("$case", async ({ declarations, ids }) => {
    const { ask, service } = await startRuns(rows);
    const page = await pageOf(ask, { filter: { parameters: declarations } });
    expect(idsOf(page)).toEqual(ids);
    expect(page).toMatchObject({
      totalCount: ids.length,
      scan: { scannedRows: 6, isComplete: true },
      pageInfo: { hasNextPage: false },
    });
    expect(service.inOrder()).toEqual(["GET ada/mnist/experiments?limit=500"]);
  });
});

test("server-side conditions narrow a scan, or make it unnecessary", async () => {
  const { ask, service } = await startRuns([{ act: "relu", lr: 0.1 }]);
  const act = { name: "act", values: ["relu"] };
  const narrowed = { statuses: ["RUNNING"], parameters: [act, { name: "lr", values: ["0.1"] }] };
  expect(await pageOf(ask, { filter: narrowed })).toMatchObject({
    nodes: [{ internalId: "1" }],
    scan: { scannedRows: 1, isComplete: true },
  });
  expect(await pageOf(ask, { filter: { parameters: [act] } })).toMatchObject({ totalCount: 1, scan: null });
  const query = (text: string) => `query=${encodeURIComponent(text)}`;
  expect(service.inOrder()).toEqual([
    `GET ada/mnist/experiments?${query("status:running,declarations.act:relu")}&limit=500`,
    `GET ada/mnist/experiments?${query("declarations.act:relu")}`,
  ]);
});

describe("the gateway compares strings and names that cannot be sent upstream", () => {
  const { rows, cases: texts } = COMPARED.texts;
  test.each(texts)("$filter", async ({ filter, ids, compared, sent }) => {
    const { ask, filters, service } = await startRows(rows, { EXPLAIN: "on" });
    const answer = await ask(LIST, { filter }, { headers: { "x-rungraph-explain": "1" } });
    const page = listIn(answer, "project.experiments");
    expect(idsOf(page)).toEqual(ids);
    expect(page).toMatchObject({ totalCount: ids.length, scan: { scannedRows: 3, isComplete: true } });
    expect(filters()).toEqual([sent]);
    expect(service.seen()[0]?.path).toMatch(/&limit=500$/);
    const { extensions } = answer as unknown as { extensions: { explain: { scans: object[] } } };
    const scan = { fields: ["project.experiments"], moreFields: 0, compared, rows: 3 };
    expect(extensions.explain.scans).toEqual([scan]);
  });
});

test("a scan above MAX_SCANNED_ROWS is incomplete and continues after a cursor", async () => {
  const rows = Array.from({ length: 10 }, (_, index) => ({ lr: index === 6 ? 0.1 : 0.2 }));
  const { ask, service } = await startRuns(rows, { MAX_SCANNED_ROWS: "4", MAX_PAGE_SIZE: "3" });
  const filter = { parameters: { name: "lr", values: ["0.1"] } };
  const first = await pageOf(ask, { filter });
  expect(first).toEqual({
    nodes: [],
    totalCount: null,
    scan: { scannedRows: 4, isComplete: false },
    pageInfo: { hasNextPage: true, endCursor: expect.any(String) },
  });
  const second = await pageOf(ask, { filter, after: first.pageInfo.endCursor });
  expect(second).toMatchObject({ nodes: [{ internalId: "7" }], totalCount: null, scan: { scannedRows: 4 } });
  const last = await pageOf(ask, { filter, after: second.pageInfo.endCursor });
  expect(last).toMatchObject({ nodes: [], totalCount: null, scan: { scannedRows: 2, isComplete: true } });
  expect(service.inOrder()).toEqual(
    ["3", "1&offset=3", "3&offset=4", "1&offset=7", "3&offset=8"].map(
      (page) => `GET ada/mnist/experiments?limit=${page}`,
    ),
  );
});

test("scans return each match once, in order, for any page size", async () => {
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
        let scannedRows = 0;
        do {
          const page: Listed = await pageOf(ask, {
            filter: { parameters: { name: "lr", values: ["1"] } },
            first: first === null ? null : Math.min(first, size),
            after,
          });
          found.push(...idsOf(page));
          scannedRows += page.scan?.scannedRows ?? 0;
          counts.add(page.totalCount);
          after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
        } while (after !== null);
        expect(found).toEqual(values.flatMap((lr, index) => (`${lr}` === "1" ? [index + 1] : [])));
        expect([...counts].filter((count) => count !== null && count !== found.length)).toEqual([]);
        expect(scannedRows).toBeGreaterThanOrEqual(values.length);
      },
    ),
    { numRuns: cases(15, 100) },
  );
});

test("a scan that finds rows does not check whether its group exists", async () => {
  const { ask, service } = await startRuns([{ lr: 2 }]);
  const query = `{ group(id: "ada.mnist.1") { experiments(filter: { parameters: { name: "lr", atMost: 1 } }) { totalCount } } }`;
  expect(await ask(query)).toEqual({ data: { group: { experiments: { totalCount: 0 } } } });
  expect(service.inOrder()).toEqual(["GET ada/mnist/experiments?group=1&limit=500"]);
});

const wanted = (text: string) => ({ filter: { parameters: [{ name: "lr", values: [text] }] } });

test("a row without parameters is an error, not a mismatch", async () => {
  const { ask } = await startRuns([{ lr: 1 }, undefined]);
  const message = "A row of the service's list lacks `declarations`.";
  expect(outcomeOf(await ask(LIST, wanted("1")))).toEqual({
    data: { project: { experiments: null } },
    errors: [failure("project.experiments", "UPSTREAM_BAD_RESPONSE", message)],
  });
});

test("a scan respects the upstream request limit of its operation", async () => {
  const rows = Array.from({ length: 10 }, () => ({ lr: 2 }));
  const { ask, calls } = await startRuns(rows, { MAX_PAGE_SIZE: "2", MAX_UPSTREAM_REQUESTS: "3" });
  expect(errorsOf(await ask(LIST, wanted("1")))).toMatchObject([{ code: "REQUEST_LIMIT_EXCEEDED" }]);
  expect(calls()).toHaveLength(3);
});
