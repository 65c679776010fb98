import { expect, test } from "vitest";
import { errorsOf, failure } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

const env = { UPSTREAM_PROFILE: "polyaxon-0.4" };

const QUERY = `query ($first: Int, $after: String) { user(username: "ada") { bookmarkedJobs(first: $first, after: $after) {
  nodes { uniqueName }
  edges { cursor }
  totalCount
  pageInfo { hasNextPage endCursor }
} } }`;

interface Bookmarks {
  readonly user: {
    readonly bookmarkedJobs: {
      readonly nodes: readonly { readonly uniqueName: string }[];
      readonly edges: readonly { readonly cursor: string }[];
      readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
    };
  };
}

/** Five bookmarks, of which the second and third outlived their jobs. */
const startBookmarks = () =>
  startFake(({ path }) => {
    const { searchParams } = new URL(path, "http://service");
    const offset = Number(searchParams.get("offset"));
    const end = offset + Number(searchParams.get("limit") ?? 20);
    const jobs = [1, null, undefined, 4, 5].map((id) => ({
      ...(id !== undefined && {
        content_object: id && { id, unique_name: `ada.mnist.jobs.${id}`, project: "ada.mnist" },
      }),
    }));
    return { json: { count: 5, results: jobs.slice(offset, end) } };
  });

test("a bookmark whose record is gone is left out of its list", async () => {
  const service = await startBookmarks();
  const { ask } = await startGateway({ upstream: service, env });
  expect(await ask(QUERY)).toMatchObject({
    data: {
      user: {
        bookmarkedJobs: {
          nodes: [1, 4, 5].map((id) => ({ uniqueName: `ada.mnist.jobs.${id}` })),
          totalCount: 5,
        },
      },
    },
  });
  expect(service.calls()).toEqual(["GET bookmarks/ada/jobs"]);
});

test.each([1, 2, 3, 4])("pages of %i go on behind what is left out", async (first) => {
  const service = await startBookmarks();
  const { ask } = await startGateway({ upstream: service, env });
  const names: string[] = [];
  let after: string | null = null;
  for (let hasNext = true; hasNext;) {
    const answer: { data: Bookmarks } = await ask<Bookmarks, object>(QUERY, { first, after });
    const { nodes, edges, pageInfo } = answer.data.user.bookmarkedJobs;
    expect(edges).toHaveLength(nodes.length);
    names.push(...nodes.map(({ uniqueName }) => uniqueName));
    after = pageInfo.endCursor;
    hasNext = pageInfo.hasNextPage;
  }
  expect(names).toEqual([1, 4, 5].map((id) => `ada.mnist.jobs.${id}`));
});

test("the cursor of an item points behind it, also after one that is left out", async () => {
  const service = await startBookmarks();
  const { ask } = await startGateway({ upstream: service, env });
  const { data } = await ask<Bookmarks, object>(QUERY, {});
  const after = data.user.bookmarkedJobs.edges[1]?.cursor;
  const rest = await ask<Bookmarks, object>(QUERY, { after });
  expect(rest.data.user.bookmarkedJobs.nodes).toEqual([{ uniqueName: "ada.mnist.jobs.5" }]);
});

test("a user name that fits no path of the server is no fault of its release", async () => {
  const service = await startFake(() => ({
    text: "<!DOCTYPE html><title>Page not found</title>",
    status: 404,
    headers: { "content-type": "text/html" },
  }));
  const { ask } = await startGateway({ upstream: service, env });
  const answer = await ask('{ user(username: "m.curie") { username projects { totalCount } } }');
  expect(answer.data).toEqual({ user: { username: "m.curie", projects: null } });
  expect(errorsOf(answer)).toEqual([
    failure(
      "user.projects",
      "UPSTREAM_UNSUPPORTED",
      "The server has no such path, or failed at it: known servers take only letters, digits, `-` and `_` in a name of a path, such as that of a user or a project.",
      { upstream: { method: "GET", route: "{owner}", status: 404 } },
    ),
  ]);
});
