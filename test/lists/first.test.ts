import { expect, test } from "vitest";
import {
  CHILD_LISTS,
  type ChildList,
  idsOfPage,
  openList,
  rowsOf,
  startPaging,
} from "../support/child-lists.ts";

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
