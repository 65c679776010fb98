import { describe, expect, test } from "vitest";
import { type Answer, RELEASE_04, startBefore } from "../support/gateway.ts";
import { listIn } from "../support/listed.ts";
import { startProfile } from "../support/profiles.ts";
import { startRows } from "./rows.ts";

const QUERY = `query ($first: Int, $offset: Int, $after: String) { project(id: "ada.mnist") {
  experiments(first: $first, offset: $offset, after: $after, order: { by: { field: CREATED_AT }, direction: ASC }) {
    nodes { internalId }
    pageInfo { hasPreviousPage hasNextPage endCursor }
    totalCount
  }
} }`;

const listOf = (answer: Answer<unknown>) => listIn(answer, "project.experiments");

const pageOf = (answer: Answer<unknown>) => {
  const { nodes, pageInfo, totalCount } = listOf(answer);
  const { endCursor: _, ...has } = pageInfo;
  return { ids: nodes.map(({ internalId }) => Number(internalId)), ...has, totalCount };
};

const LIST = "GET ada/mnist/experiments?sort=created_at%2C-updated_at";

describe("a page at an offset", () => {
  test.each([
    // One more row is read before and after the page, because these rows may have the same dates as rows of the page.
    [{ first: 20, offset: 40 }, [6, true, false], "&limit=22&offset=39"],
    [{ first: 5, offset: 0 }, [5, false, true], "&limit=6"],
    [{ offset: 10 }, [20, true, true], "&offset=10"],
    [{ first: 5, offset: 999_999_999 }, [0, true, false], "&limit=7&offset=999999998"],
  ] as const)(
    "with %j takes one request",
    async (args, [length, hasPreviousPage, hasNextPage], parameters) => {
      const { ask, calls } = await startProfile();
      const { ids, ...rest } = pageOf(await ask(QUERY, args));
      expect(ids).toHaveLength(length);
      expect(rest).toEqual({ hasPreviousPage, hasNextPage, totalCount: 46 });
      expect(calls()).toEqual([`${LIST}${parameters}`]);
    },
  );

  test("is empty at the end of a list whose server ignores offsets", async () => {
    const results = [1, 2, 3].map((id) => ({ id, created_at: `2026-01-0${id}T00:00:00Z` }));
    const { ask } = await startBefore(() => ({ json: { count: 3, next: null, results } }), RELEASE_04);
    const after = listOf(await ask(QUERY, { first: 3 })).pageInfo.endCursor;
    for (const args of [{ after }, { offset: 5 }])
      expect(pageOf(await ask(QUERY, { first: 3, ...args })).ids).toEqual([]);
  });

  test("continues after its cursor; hasPreviousPage is false in an empty list", async () => {
    const { ask, calls } = await startRows(Array.from({ length: 30 }, (_, index) => ({ id: index + 1 })));
    const page = await ask(QUERY, { first: 3, offset: 20 });
    const after = listOf(page).pageInfo.endCursor;
    expect(pageOf(await ask(QUERY, { first: 3, after })).ids).toEqual([24, 25, 26]);
    expect(calls()).toEqual([`${LIST}&limit=3&offset=23`, `${LIST}&limit=5&offset=19`]);
    const empty = await (await startRows([])).ask(QUERY, { first: 5, offset: 5 });
    expect(pageOf(empty)).toEqual({ ids: [], hasPreviousPage: false, hasNextPage: false, totalCount: 0 });
  });
});
