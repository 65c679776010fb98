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
