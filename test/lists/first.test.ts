import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import {
  CHILD_LISTS,
  type ChildList,
  childListOperation,
  idsOfPage,
  openList,
  type PageAnswer,
  rowsOf,
  startPaging,
} from "../support/child-lists.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

describe("a list without `first`", () => {
  test.each(Object.keys(CHILD_LISTS) as ChildList[])(
    "%s is the first page of the service, in exactly one request",
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

  test("and with `after` it is the next page, in exactly one request", async () => {
    const service = await startPaging(rowsOf(45));
    const { page } = await openList(service);
    const { pageInfo } = await page();
    const second = await page({ after: pageInfo.endCursor });
    expect(idsOfPage(second)).toEqual(
      rowsOf(40)
        .map(({ id }) => id)
        .slice(20),
    );
    expect(second.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
    const last = await page({ after: second.pageInfo.endCursor });
    expect(idsOfPage(last)).toEqual([41, 42, 43, 44, 45]);
    expect(last.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    expect(service.calls()).toEqual([
      "GET ada/mnist/experiments/42/statuses",
      "GET ada/mnist/experiments/42/statuses?limit=20&offset=20",
      "GET ada/mnist/experiments/42/statuses?limit=20&offset=40",
    ]);
  });

  test("behind an item in the middle of a page it is the rest of that page", async () => {
    const service = await startPaging(rowsOf(45));
    const { page } = await openList(service);
    const { edges } = await page();
    const rest = await page({ after: edges[16]?.cursor ?? "" });
    expect(idsOfPage(rest)).toEqual([18, 19, 20]);
    expect(rest.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
    expect(service.calls()).toHaveLength(2);
  });

  test("of no rows has no nodes, no cursors and no next page", async () => {
    const service = await startPaging([]);
    const { page } = await openList(service);
    expect(await page()).toEqual({
      nodes: [],
      edges: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
      totalCount: 0,
    });
  });
});

describe("a list with `first`", () => {
  test("pages are walked until there are so many, and no further", async () => {
    const service = await startPaging(rowsOf(100));
    const { page } = await openList(service);
    const found = await page({ first: 45 });
    expect(idsOfPage(found)).toEqual(rowsOf(45).map(({ id }) => id));
    expect(found).toMatchObject({ pageInfo: { hasNextPage: true, hasPreviousPage: false }, totalCount: 100 });
    expect(service.calls()).toEqual([
      "GET ada/mnist/experiments/42/statuses",
      "GET ada/mnist/experiments/42/statuses?limit=20&offset=20",
      "GET ada/mnist/experiments/42/statuses?limit=20&offset=40",
    ]);
  });

  test("no page is read beyond one that ends exactly there", async () => {
    const service = await startPaging(rowsOf(60));
    const { page } = await openList(service);
    const found = await page({ first: 40 });
    expect(idsOfPage(found)).toHaveLength(40);
    expect(found.pageInfo.hasNextPage).toBe(true);
    expect(service.calls()).toHaveLength(2);
  });

  test("a shorter list ends where it ends", async () => {
    const service = await startPaging(rowsOf(30));
    const { page } = await openList(service);
    const found = await page({ first: 200 });
    expect(idsOfPage(found)).toHaveLength(30);
    expect(found.pageInfo.hasNextPage).toBe(false);
    expect(service.calls()).toHaveLength(2);
  });

  test("the cursors of the page are those of its first and last item", async () => {
    const { page } = await openList(await startPaging(rowsOf(30)));
    const { edges, pageInfo } = await page({ first: 25 });
    expect(pageInfo.startCursor).toBe(edges[0]?.cursor);
    expect(pageInfo.endCursor).toBe(edges[24]?.cursor);
    expect(new Set(edges.map(({ cursor }) => cursor)).size).toBe(25);
  });

  test("a cursor of one gateway is good at another", async () => {
    const service = await startPaging(rowsOf(45));
    const one = await openList(service);
    const other = await openList(service);
    const { pageInfo } = await one.page({ first: 7 });
    expect(idsOfPage(await other.page({ first: 2, after: pageInfo.endCursor }))).toEqual([8, 9]);
  });

  test("behind the end of a list is nothing, until it grows", async () => {
    const rows = rowsOf(3);
    const { page } = await openList(await startPaging(rows));
    const { pageInfo } = await page({ first: 3 });
    expect(await page({ first: 3, after: pageInfo.endCursor })).toMatchObject({
      nodes: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: true },
    });
    rows.push({ id: 4 });
    expect(idsOfPage(await page({ first: 3, after: pageInfo.endCursor }))).toEqual([4]);
  });
});

describe("a walk through a list from cursor to cursor", () => {
  const step = fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined });

  test("gives every item once and in order, in steps of any size through pages of any size", async () => {
    let rows: readonly { id: number }[] = [];
    let size = 1;
    const service = await startFake(({ path }) => {
      const offset = Number(new URL(path, "http://service").searchParams.get("offset") ?? 0);
      const next = offset + size < rows.length ? `http://internal.example/x?offset=${offset + size}` : null;
      const previous = offset > 0 ? "http://internal.example/x" : null;
      return { json: { count: rows.length, next, previous, results: rows.slice(offset, offset + size) } };
    });
    const { ask } = await startGateway({ upstream: service });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...(Object.keys(CHILD_LISTS) as ChildList[])),
        fc.nat({ max: 30 }),
        fc.integer({ min: 1, max: 9 }),
        fc.array(step, { minLength: 1, maxLength: 5 }),
        async (list, length, pageSize, steps) => {
          rows = rowsOf(length);
          size = pageSize;
          const walked: number[] = [];
          let after: string | null = null;
          let more = true;
          for (let taken = 0; more && taken <= length; taken++) {
            const first = steps[taken % steps.length];
            const { data } = (await ask(childListOperation(list), { first, after })) as PageAnswer;
            const page = data.thing.page;
            if (!page) throw new Error("no page");
            const wanted = first ?? size - (walked.length % size);
            expect(page.nodes.length).toBe(Math.min(wanted, length - walked.length));
            expect(page.pageInfo.hasPreviousPage).toBe(walked.length > 0);
            walked.push(...idsOfPage(page));
            expect(page.pageInfo.hasNextPage).toBe(walked.length < length);
            expect(page.totalCount).toBe(length);
            after = page.pageInfo.endCursor;
            more = page.pageInfo.hasNextPage;
          }
          expect(walked).toEqual(rows.map(({ id }) => id));
        },
      ),
      { numRuns: cases(15, 60) },
    );
  });
});
