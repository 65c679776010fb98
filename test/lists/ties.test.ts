import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { errorsOf, failure } from "../support/errors.ts";
import { type Answer, RELEASE_02, RELEASE_04, startBefore } from "../support/gateway.ts";
import { listIn } from "../support/listed.ts";
import { profileFile } from "../support/tracker.ts";
import { idsIn, listOf, numbers, RUNS, sorted, startShuffling, tiesOf } from "./shuffled.ts";

const BOOKMARKS = listOf(
  "bookmarks(kind: EXPERIMENT, first: $first, after: $after, offset: $offset)",
  `user(username: "ada")`,
  "... on Experiment { internalId }",
);

describe("paging over rows with equal dates returns each row once", () => {
  test("in pages of any size, from any row", async () => {
    const { state, pageIn } = await startShuffling([]);
    const anyStep = fc.tuple(fc.option(fc.integer({ min: 3, max: 20 })), fc.integer({ min: 3, max: 20 }));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 }),
        fc.array(anyStep, { minLength: 1, maxLength: 4 }),
        async (lengths, steps) => {
          state.ties = tiesOf(lengths);
          const found: number[] = [];
          let after: string | null = null;
          for (let count = 0; ; count++) {
            const [first = null, taken = 1] = steps[count % steps.length] ?? [];
            const page = await pageIn(RUNS, { first, after });
            const kept = page.edges.slice(0, taken);
            found.push(...idsIn({ ...page, nodes: kept.map(({ node }) => node) }));
            after = kept.at(-1)?.cursor ?? after;
            if (kept.length === page.edges.length && !page.pageInfo.hasNextPage) break;
          }
          expect(sorted([found])).toEqual(numbers(state.ties.flat().length));
        },
      ),
      { numRuns: cases(10, 75) },
    );
  });

  const OPEN = profileFile("extends: polyaxon-0.4\norders: {DEFAULT: null, STARTED_ASC: {by: start}}");
  const byField = (field: string, direction = "DESC") => ({ order: { by: { field }, direction } });

  test.each([
    ["the server's own order", RELEASE_04, {}],
    ["the order of release 0.2", RELEASE_02, {}],
    ["an order that the profile does not define", { UPSTREAM_PROFILE: OPEN }, {}],
    ["an order in the server's own spelling", { UPSTREAM_PROFILE: OPEN }, byField("STARTED_AT", "ASC")],
    ["creation", RELEASE_04, byField("CREATED_AT")],
    ["ends that are null", RELEASE_04, byField("FINISHED_AT")],
    ["a metric", RELEASE_04, { order: { by: { metric: "loss" }, direction: "ASC" } }],
    ["any order in scanned pages", RELEASE_04, { filter: { words: "x" } }],
  ])("sorted by %s", async (_, env, variables) => {
    const { walk } = await startShuffling([1, 6, 25, 2, 7], env);
    expect(sorted(await walk(RUNS, { first: 5, ...variables }))).toEqual(numbers(41));
    expect(sorted(await walk(RUNS, variables))).toEqual(numbers(41));
  });

  test.each([
    ["projects", listOf("projects(first: $first, after: $after)", `user(username: "ada")`, "name")],
    [
      "archives",
      listOf(
        "archives(kind: EXPERIMENT, first: $first, after: $after)",
        `user(username: "ada")`,
        "... on Experiment { internalId }",
      ),
    ],
    ["bookmarks, whose order is unknown", BOOKMARKS],
    ["metrics", listOf("metrics(first: $first, after: $after)", `experiment(id: "ada.mnist.experiments.7")`)],
    ["statuses", listOf("statuses(first: $first, after: $after)", `job(id: "ada.mnist.jobs.7")`)],
  ])("for %s", async (_, query) => {
    const { walk } = await startShuffling([1, 6, 25, 2, 7]);
    expect(sorted(await walk(query, { first: 5 }))).toEqual(numbers(41));
  });

  test("for more statuses than fit in one block", async () => {
    const { walk } = await startShuffling([90, 30, 80]);
    const query = listOf("statuses(first: $first, after: $after)", `job(id: "ada.mnist.jobs.7")`);
    expect((await walk(query, { first: 35 })).flat()).toEqual(numbers(200));
  });

  test("in summaries and exports, which read pages sequentially", async () => {
    const { ask, url } = await startShuffling([1, 6, 25, 2, 7], { ...RELEASE_04, MAX_PAGE_SIZE: "5" });
    const summary = "summary { isComplete parameters { distinctCount } }";
    expect(await ask(`{ project(id: "ada.mnist") { experiments { ${summary} } } }`)).toEqual({
      data: {
        project: {
          experiments: { summary: { isComplete: true, parameters: [{ distinctCount: 41 }] } },
        },
      },
    });
    const headers = { authorization: "token t0ken" };
    const table = await (
      await fetch(`${url}/export/ada.mnist/runs.csv?columns=parameter.seed`, { headers })
    ).text();
    const [, ...seeds] = table.trimEnd().split("\r\n");
    expect(sorted([seeds.map(Number)])).toEqual(numbers(41));
  });
});

const LIST = "GET ada/mnist/experiments";

describe("a tie", () => {
  test("costs one extra request if a page ends within the tie", async () => {
    const { walk, service } = await startShuffling([3, 9, 3]);
    const pages = await walk(RUNS, { first: 4 });
    expect(pages.map(({ length }) => length)).toEqual([4, 4, 4, 3]);
    expect(service.inOrder()).toEqual([
      `${LIST}?limit=4`,
      // The first row has the same dates as the row before it, so the tie is read from its beginning.
      `${LIST}?limit=4&offset=4`,
      `${LIST}?limit=5&offset=3`,
      `${LIST}?limit=9&offset=3`,
      // The end of the tie is still unknown.
      `${LIST}?limit=13&offset=3`,
    ]);
  });

  test("costs no extra request if no page ends within the tie", async () => {
    const { walk, service } = await startShuffling([2, 1, 3]);
    await walk(RUNS, { first: 3 });
    expect(service.inOrder()).toEqual([`${LIST}?limit=3`, `${LIST}?limit=3&offset=3`]);
  });
});

describe("a numbered page", () => {
  test.each([
    ["runs", RUNS],
    ["bookmarks", BOOKMARKS],
  ])("of %s always has the same rows, and no page repeats them", async (_, query) => {
    const { pageIn } = await startShuffling([1, 6, 25, 2, 7]);
    const pages = async () => {
      const found: number[][] = [];
      for (const offset of [0, 10, 20, 30, 40, 50, 1_200])
        found.push(idsIn(await pageIn(query, { first: 10, offset })));
      return found;
    };
    expect((await pages()).flat()).toEqual(numbers(41));
    expect((await pages()).flat()).toEqual(numbers(41));
  });

  test("has a cursor that continues with the next rows", async () => {
    const { pageIn, walk } = await startShuffling([1, 6, 25, 2, 7]);
    const { pageInfo } = await pageIn(RUNS, { first: 10, offset: 10 });
    const next = await pageIn(RUNS, { first: 10, after: pageInfo.endCursor });
    const last = await pageIn(RUNS, { first: 20, after: next.pageInfo.endCursor });
    expect(sorted([idsIn(next), idsIn(last)])).toEqual(numbers(41).slice(20));
    expect(await walk(RUNS, { first: 50 })).toHaveLength(1);
  });

  test("costs an extra request if a tie extends beyond the page", async () => {
    const { pageIn, service } = await startShuffling([9, 1, 5, 8, 20, 60]);
    for (const offset of [10, 20]) await pageIn(RUNS, { first: 5, offset });
    expect(service.inOrder()).toEqual([
      `${LIST}?limit=7&offset=9`,
      `${LIST}?limit=7&offset=19`,
      `${LIST}?limit=100`,
    ]);
  });
});

const TOO_MANY =
  "Too many rows have equal values in this order, and the service leaves open which of them comes first. Request larger pages or another order.";

describe("a tie too long for paging is reported as an error", () => {
  test("at the cursor that would have to contain the tie", async () => {
    const { ask } = await startShuffling([1_600], { ...RELEASE_04, MAX_PAGE_SIZE: "500" });
    const query = RUNS.replace(/edges .*? nodes/, "nodes");
    let answer: Answer<unknown> = await ask(query, { first: 500 });
    for (let page = 0; page < 2; page++) {
      expect(errorsOf(answer)).toEqual([]);
      answer = await ask(query, { first: 500, after: listIn(answer, "of.page").pageInfo.endCursor });
    }
    const { nodes, pageInfo } = listIn(answer, "of.page");
    expect([nodes.length, pageInfo]).toEqual([500, { hasNextPage: true, endCursor: null }]);
    expect(errorsOf(answer)).toEqual([failure("of.page.pageInfo.endCursor", "PAGE_LIMIT_REACHED", TOO_MANY)]);
    const numbered = await ask(RUNS, { first: 5, offset: 1_200 });
    expect(errorsOf(numbered)).toEqual([failure("of.page", "PAGE_LIMIT_REACHED", TOO_MANY)]);
  });

  test("when the server's pages are shorter than the tie", async () => {
    const paging = "paging: {by: offset, parameter: offset, size: limit, maxSize: 10}";
    const UPSTREAM_PROFILE = profileFile(`extends: polyaxon-0.4\n${paging}`);
    const { ask } = await startShuffling([12, 400], { UPSTREAM_PROFILE });
    const found: number[] = [];
    let answer = await ask(RUNS, { first: 5 });
    while (!answer.errors) {
      const page = listIn(answer, "of.page");
      found.push(...idsIn(page));
      answer = await ask(RUNS, { first: 5, after: page.pageInfo.endCursor });
    }
    expect(errorsOf(answer)).toEqual([failure("of.page", "PAGE_LIMIT_REACHED", TOO_MANY)]);
    expect(new Set(found).size).toBe(found.length);
  });
});

test("sorts at most 10,000 rows if a page is longer than requested", async () => {
  const rows = Array.from({ length: 10_001 }, (_, index) => ({ id: 10_001 - index, created_at: "a" }));
  const { ask, service } = await startBefore(
    ({ path }) => ({ json: path.includes("/jobs") ? { count: 20_000, results: rows } : { id: 42 } }),
    RELEASE_04,
  );
  const answer = await ask(
    `{ experiment(id: "ada.mnist.42") { jobs(first: 2) { nodes { internalId } pageInfo { hasNextPage } } } }`,
  );
  const nodes = ["2", "3"].map((internalId) => ({ internalId }));
  expect(answer).toEqual({ data: { experiment: { jobs: { nodes, pageInfo: { hasNextPage: true } } } } });
  const pages = ["limit=100", "limit=1000", "limit=1002", "limit=2"];
  expect(service.inOrder()).toEqual(pages.map((each) => `GET ada/mnist/experiments/42/jobs?${each}`));
});
