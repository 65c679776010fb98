import { expect, test } from "vitest";
import { type Listed, listIn } from "../support/listed.ts";
import { startRows } from "./rows.ts";

const QUERY = `query ($first: Int, $after: String) { user(username: "ada") { bookmarks(kind: JOB, first: $first, after: $after) {
  nodes { ... on Job { uniqueName } }
  edges { cursor }
  totalCount
  pageInfo { hasNextPage endCursor }
} } }`;

/** Five bookmarks. The jobs of the second and third have been deleted. */
const ROWS = [1, null, undefined, 4, 5].map((id) => ({
  ...(id !== undefined && {
    content_object: id && { id, unique_name: `ada.mnist.jobs.${id}`, project: "ada.mnist" },
  }),
}));
const namesOf = (...ids: number[]) => ids.map((id) => ({ uniqueName: `ada.mnist.jobs.${id}` }));

test.each([1, 2, 3, 4, undefined])("pages of %s omit bookmarks of missing records", async (first) => {
  const { ask } = await startRows(ROWS);
  const found: object[] = [];
  let after: string | null = null;
  for (let hasNext = true; hasNext;) {
    const page: Listed = listIn(await ask(QUERY, { first, after }), "user.bookmarks");
    const { nodes, edges, pageInfo, totalCount } = page;
    expect(totalCount).toBe(5);
    expect(edges).toHaveLength(nodes.length);
    found.push(...nodes);
    after = pageInfo.endCursor;
    hasNext = pageInfo.hasNextPage;
  }
  expect(found).toEqual(namesOf(1, 4, 5));
});

test("a cursor skips omitted bookmarks, and isBookmarked refers to the caller", async () => {
  const { ask } = await startRows(ROWS, {}, { id: 5, bookmarked: false });
  const { edges } = listIn(await ask(QUERY), "user.bookmarks");
  const query = QUERY.replace("uniqueName", "uniqueName isBookmarked");
  const rest = listIn(await ask(query, { after: edges[1]?.cursor }), "user.bookmarks");
  expect(rest.nodes).toEqual([{ ...namesOf(5)[0], isBookmarked: false }]);
});
