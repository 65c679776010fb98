import { expect, test } from "vitest";
import {
  CHILD_LISTS,
  type ChildList,
  idsOfPage,
  openList,
  rowsOf,
  startPaging,
} from "../support/child-lists.ts";

const STATUSES = "GET ada/mnist/experiments/42/statuses";

test.each(Object.keys(CHILD_LISTS) as ChildList[])(
  "without `first`, %s is the first page of the service, in exactly one request",
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

test("a list of no rows has no nodes, no cursors and no next page", async () => {
  const { page } = await openList(await startPaging([]));
  expect(await page()).toEqual({
    nodes: [],
    edges: [],
    pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
    totalCount: 0,
  });
});

test.each([
  ["as many pages as it needs", 100, 45, 3],
  ["no page after one that ends exactly there", 60, 40, 2],
  ["a shorter list to its end", 30, 200, 2],
])("`first` reads %s", async (_, length, first, requests) => {
  const service = await startPaging(rowsOf(length));
  const { page } = await openList(service);
  const { nodes, edges, pageInfo, totalCount } = await page({ first });
  expect(nodes).toHaveLength(Math.min(length, first));
  expect(totalCount).toBe(length);
  expect(pageInfo).toEqual({
    hasNextPage: length > first,
    hasPreviousPage: false,
    startCursor: edges[0]?.cursor,
    endCursor: edges.at(-1)?.cursor,
  });
  const pages = ["", "?limit=20&offset=20", "?limit=20&offset=40"].map((query) => `${STATUSES}${query}`);
  expect(service.calls()).toEqual(pages.slice(0, requests));
});

test("after the end of a list is nothing, until it grows; the cursor is good at any gateway", async () => {
  const rows = rowsOf(3);
  const service = await startPaging(rows);
  const { pageInfo } = await (await openList(service)).page({ first: 3 });
  const { page } = await openList(service);
  expect(await page({ first: 3, after: pageInfo.endCursor })).toMatchObject({
    nodes: [],
    pageInfo: { hasNextPage: false, hasPreviousPage: true },
  });
  rows.push({ id: 4 });
  expect(idsOfPage(await page({ first: 3, after: pageInfo.endCursor }))).toEqual([4]);
});
