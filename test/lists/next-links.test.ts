import { describe, expect, test } from "vitest";
import { idsOfPage, openList, rowsOf, startPaging, STATUSES_LIST } from "../support/child-lists.ts";
import { codesOf, failure, outcomeOf } from "../support/errors.ts";
import { startFake, type FakeResponse } from "../support/fake.ts";
import LINKS from "./next-links.json" with { type: "json" };

const badPage = (message: string, upstream: object = {}, code = "UPSTREAM_BAD_RESPONSE") => ({
  data: { thing: { page: null } },
  errors: [
    failure("thing.page", code, message, {
      upstream: { method: "GET", route: "{owner}/{project}/experiments/{id}/statuses", ...upstream },
    }),
  ],
});

describe("a next-page link from the service", () => {
  /** The second request that a link causes: path and query, or an empty string. */
  async function secondOf(next: unknown) {
    const other = await startFake(() => ({ json: { results: [{ id: 2 }] } }));
    const service = await startFake(({ path }): FakeResponse => {
      const isFirst = path.endsWith("/statuses");
      const link = typeof next === "string" ? next.replace("OTHER", other.url) : next;
      return { json: { results: [{ id: isFirst ? 1 : 2 }], next: isFirst ? link : null } };
    });
    const { tryPage } = await openList(service);
    const answer = await tryPage({ first: 2 });
    expect(other.calls()).toEqual([]);
    return { answer, second: service.seen()[1]?.path, headers: service.seen()[1]?.headers };
  }

  test.each(LINKS)("contributes only known parameters: $case", async ({ next, query }) => {
    const { answer, second, headers } = await secondOf(next);
    expect(answer.data.thing.page && idsOfPage(answer.data.thing.page)).toEqual([1, 2]);
    expect(second).toBe(`/api/v1/ada/mnist/experiments/42/statuses?${query}`);
    const names = "accept authorization connection host user-agent x-request-id".split(" ");
    expect(Object.keys(headers ?? {}).toSorted()).toEqual(names);
  });

  test.each([
    ["null", null],
    ["nothing", undefined],
    ["a number", 7],
    ["an object", { href: "/x?offset=1" }],
  ])("that is %s ends the list", async (_, next) => {
    const { answer, second } = await secondOf(next);
    expect(answer.data.thing.page).toMatchObject({
      nodes: [{ internalId: "1" }],
      pageInfo: { hasNextPage: false },
    });
    expect(second).toBeUndefined();
  });

  test.each(["http://[", "http://:80x/?offset=1", "//", `/x?offset=1&a=${"a".repeat(8_000)}`])(
    "causes an error if it is too long or invalid: %.40s",
    async (next) => {
      const { answer, second } = await secondOf(next);
      expect(outcomeOf(answer)).toEqual(badPage("The service's link to the next page cannot be read."));
      expect(second).toBeUndefined();
    },
  );
});

describe("pagination fails if next-page links lead", () => {
  test.each([
    ["to the same page", ["?offset=1", "?offset=1"], 2],
    ["to the first page", ["?"], 1],
    ["in a circle of three pages", ["?offset=1", "?offset=2", "?offset=3", "?offset=1"], 4],
    ["in a circle of two pages with other spellings", ["?offset=1&limit=5", "?limit=5&offset=1&x=2"], 2],
  ])("%s", async (_, links, requests) => {
    let asked = 0;
    const service = await startFake(() => ({
      json: { results: [{ id: asked + 1 }], next: links[asked++] ?? links.at(-1) },
    }));
    const { tryPage } = await openList(service);
    const answer = await tryPage({ first: 200 });
    expect(outcomeOf(answer)).toEqual(badPage("The service's page links lead in a circle."));
    expect(service.calls()).toHaveLength(requests);
  });
});

test.each([
  ["with one item each", [{ id: 1 }]],
  ["to pages that are all empty", []],
])("returns PAGE_LIMIT_REACHED after a hundred pages: %s", async (_, results) => {
  let asked = 0;
  const service = await startFake(() => ({
    json: { results, next: ++asked < 150 ? `?offset=${asked}` : null },
  }));
  const { tryPage } = await openList(service);
  const answer = await tryPage({ first: 200 });
  const message = "More than 100 pages; ask for fewer items at once.";
  expect(outcomeOf(answer)).toEqual(badPage(message, {}, "PAGE_LIMIT_REACHED"));
  expect(asked).toBe(100);
});

test("reads a hundred pages of a list, unless MAX_UPSTREAM_REQUESTS is lower", async () => {
  const service = await startPaging(rowsOf(100), 1);
  const { page } = await openList(service);
  expect(idsOfPage(await page({ first: 200 }))).toHaveLength(100);
  const { tryPage } = await openList(service, STATUSES_LIST, { MAX_UPSTREAM_REQUESTS: "3" });
  expect(codesOf(await tryPage({ first: 10 }))).toEqual(["REQUEST_LIMIT_EXCEEDED"]);
  expect(service.calls()).toHaveLength(103);
});

describe("an upstream page", () => {
  const noPage = "The service's answer cannot be used: results is missing or not of the documented type.";

  test.each([
    ["without results", { count: 1 }, noPage],
    ["with an object as results", { results: { 0: { id: 1 } } }, noPage],
    ["that is a bare list", [{ id: 1 }], "Expected a JSON object from the service, got something else."],
  ])("%s causes UPSTREAM_BAD_RESPONSE", async (_, body, message) => {
    const { tryPage } = await openList(await startFake(() => ({ json: body })));
    const answer = await tryPage();
    expect(outcomeOf(answer)).toEqual(badPage(message, { status: 200 }));
  });

  test.each([
    ["text", "many"],
    ["a fraction", 1.5],
    ["null", null],
    ["a number beyond 32 bits", 3_000_000_000],
  ])("whose count is %s is accepted, and totalCount is null", async (_, count) => {
    const { tryPage } = await openList(await startFake(() => ({ json: { count, results: [{ id: 1 }] } })));
    const answer = await tryPage();
    expect(answer.errors).toBeUndefined();
    expect(answer.data.thing.page).toMatchObject({ nodes: [{ internalId: "1" }], totalCount: null });
  });
});
