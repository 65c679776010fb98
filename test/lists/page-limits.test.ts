import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import {
  CHILD_LISTS,
  type ChildList,
  idsOfPage,
  listErrorsOf,
  openList,
  rowsOf,
  startPaging,
} from "../support/child-lists.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { opaque } from "../support/ids.ts";
import { type Listed, listIn } from "../support/listed.ts";
import { startRows } from "./rows.ts";
import FORGED from "./forged-cursors.json" with { type: "json" };

const LIST = "Experiment.metrics";
const PATH = "ada/mnist/experiments/42/metrics";
/** The identity of the list, whose hash its cursors contain. */
const MARKED = [
  "{owner}/{project}/experiments/{id}/metrics",
  { owner: "ada", project: "mnist", id: "42" },
  {},
  null,
];
const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

test.each(Object.keys(CHILD_LISTS) as ChildList[])(
  "without `first`, %s returns the service's first page with one request",
  async (list) => {
    const service = await startPaging(rowsOf(45));
    const { page } = await openList(service, list);
    const first = await page();
    expect(idsOfPage(first)).toEqual(rowsOf(20).map(({ id }) => id));
    expect(first).toMatchObject({
      pageInfo: { hasNextPage: true, hasPreviousPage: false },
      totalCount: 45,
    });
    expect(service.calls()).toEqual([`GET ${CHILD_LISTS[list][2]}`]);
  },
);

test.each(["polyaxon-0.2", "document"])(
  "without `first`, one request returns at most MAX_PAGE_SIZE items with %s",
  async (UPSTREAM_PROFILE) => {
    const service = await startPaging(rowsOf(1_300), 1_200);
    const { page } = await openList(service, LIST, { UPSTREAM_PROFILE, MAX_PAGE_SIZE: "500" });
    const found = await page();
    expect(idsOfPage(found)).toEqual(numbers(1, 500));
    expect(found).toMatchObject({ totalCount: 1_300, pageInfo: { hasNextPage: true } });
    expect(found.pageInfo.endCursor).toBe(found.edges.at(-1)?.cursor);
    expect(service.calls()).toEqual([`GET ${PATH}`]);
  },
);

test("metricSeries returns all points of a page longer than MAX_PAGE_SIZE", async () => {
  const results = numbers(1, 30).map((id) => ({ id, created_at: `${id}`, values: { loss: id } }));
  const service = await startFake(() => ({ json: { count: 30, next: null, results } }));
  const { ask } = await startGateway({ upstream: service, env: { MAX_PAGE_SIZE: "5" } });
  expect(await ask(`{ experiment(id: "ada.mnist.42") { metricSeries { totalPoints values } } }`)).toEqual({
    data: { experiment: { metricSeries: [{ totalPoints: 30, values: numbers(1, 30) }] } },
  });
});

describe("a forged cursor", () => {
  /** A cursor with a chosen position and the correct hash of the list. */
  const forged = (text: string) =>
    opaque(`${text}#${createHash("sha1").update(JSON.stringify(MARKED)).digest("base64url").slice(0, 8)}`);

  test.each(FORGED)("cannot request $case with $profile: $text", async ({ profile, text, query }) => {
    const service = await startPaging(rowsOf(10), 5);
    const { page } = await openList(service, LIST, { UPSTREAM_PROFILE: profile, MAX_PAGE_SIZE: "500" });
    await page({ after: forged(text) });
    expect(service.calls()).toEqual([`GET ${PATH}${query && `?${query}`}`]);
  });

  test.each([
    ["an offset", "offset=9999999999#0"],
    ["a page", "page=9999999999#0"],
    ["an item of a page", "limit=5#100001"],
    ["a tied row that is not a number", "offset=5#0#aaaaaa:-1"],
    ["too many tied rows", `offset=5#0#aaaaaa:1${".1".repeat(1_000)}`],
  ])("is refused if its position is impossible: %s", async (_, text) => {
    const service = await startPaging(rowsOf(10), 5);
    const { tryPage } = await openList(service, LIST);
    expect(listErrorsOf(await tryPage({ after: forged(text) }))).toMatchObject([
      {
        message: `after: expected a cursor of this list, got "${forged(text).slice(0, 60)}"`,
        extensions: { code: "BAD_USER_INPUT" },
      },
    ]);
    expect(service.calls()).toEqual([]);
  });
});

test("a cursor is refused with another order, filter or parent", async () => {
  const { ask, service } = await startRows(rowsOf(12));
  const list = (args: string, parent = `project(id: "ada.mnist")`) =>
    ask(
      `{ of: ${parent} { experiments(first: 4, ${args}) { nodes { internalId } pageInfo { hasNextPage endCursor } } } }`,
    );
  const order = "order: { by: { field: CREATED_AT }, direction: ASC }";
  const first = listIn(await list(order), "of.experiments");
  const after = `after: "${first.pageInfo.endCursor}"`;
  expect(listIn(await list(`${order}, ${after}`), "of.experiments").nodes[0]).toEqual({ internalId: "5" });
  const requests = service.calls().length;
  for (const [args, parent] of [
    [`order: { by: { field: CREATED_AT } }`],
    [`${order}, filter: { statuses: [FAILED] }`],
    [`${order}, filter: { words: "a" }`],
    [`${order}, query: "id:1"`],
    [order, `project(id: "ada.speech")`],
    [order, `group(id: "ada.mnist.1")`],
  ]) {
    const { errors } = await list(`${args}, ${after}`, parent);
    expect(errors?.map(({ message }) => message)).toEqual([
      expect.stringContaining("after: expected a cursor of this list"),
    ]);
  }
  // Only the group is read, to check that it exists.
  expect(service.calls().length).toBeLessThanOrEqual(requests + 1);
});

/** Starts a service that returns equal times in an order that depends on the size and offset of a page, as PostgreSQL does. */
const startTied = (length: number, most = Number.POSITIVE_INFINITY) =>
  startFake(({ path }) => {
    const { searchParams } = new URL(path, "http://service");
    const size = Math.min(most, Number(searchParams.get("limit") ?? 20));
    const offset = Number(searchParams.get("offset") ?? 0);
    const rows = rowsOf(length).map(({ id }) => ({ id, created_at: `2026-03-01T10:00:${id >> 2}Z` }));
    const turned = (size + offset) % 2 === 0 ? 1 : -1;
    rows.sort((a, b) => (a.id >> 2 === b.id >> 2 ? turned * (a.id - b.id) : a.id - b.id));
    return { json: { count: length, next: null, results: rows.slice(offset, offset + size) } };
  });

describe.each(["Experiment.statuses", "Experiment.jobs", "Job.statuses"] as const)(
  "%s with equal times",
  (list) => {
    const path = `GET ${CHILD_LISTS[list][2]}`;
    test.each([
      ["in the server's own page, if the list fits", 7, null, 1, [path]],
      ["as parts of one page", 7, 1, 7, [`${path}?limit=100`]],
      [
        "in pages that are always the same",
        130,
        26,
        5,
        [`${path}?limit=100`, `${path}?limit=100&offset=100`, `${path}?limit=200`],
      ],
      ["also after the server's own page", 45, null, 2, [path, `${path}?limit=100`, `${path}?limit=200`]],
    ])("are read %s", async (_, length, first, steps, calls) => {
      const service = await startTied(length);
      const { page } = await openList(service, list, { UPSTREAM_PROFILE: "polyaxon-0.4" });
      const walked: number[] = [];
      let after: string | null = null;
      let [pages, hasNext] = [0, true];
      for (; hasNext; pages++) {
        const { pageInfo, ...found }: Listed = await page({ ...(first && { first }), after });
        walked.push(...idsOfPage({ ...found, pageInfo }));
        after = pageInfo.endCursor;
        hasNext = pageInfo.hasNextPage;
      }
      expect({ walked, pages }).toEqual({ walked: numbers(1, length), pages: steps });
      expect([...new Set(service.calls())]).toEqual(calls);
    });

    test("are each read once, even if the server's pages are shorter", async () => {
      const service = await startTied(60, 16);
      const { page } = await openList(service, list, { UPSTREAM_PROFILE: "polyaxon-0.4" });
      const first = await page({ first: 20 });
      const next = await page({ first: 8, after: first.pageInfo.endCursor });
      expect([...idsOfPage(first), ...idsOfPage(next)]).toEqual(numbers(1, 28));
    });
  },
);
