import { expect, onTestFinished, test, vi } from "vitest";
import { failure, sortedErrorsOf } from "../support/errors.ts";
import { longestShareOf } from "../support/ticks.ts";
import { inProject, startRows } from "./rows.ts";
import WORDS from "./words.json" with { type: "json" };

/* Servers have no text search. A scan of the list finds runs by words. */

const { rows: ROWS, found: FOUND } = WORDS;

const queryOf = (list: string, args: string) =>
  inProject(`list: ${list}(${args}) { totalCount scan { scannedRows isComplete } nodes { internalId } }`);

const found = (ids: readonly number[]) => ({
  data: {
    project: {
      list: {
        totalCount: ids.length,
        scan: { scannedRows: ROWS.length, isComplete: true },
        nodes: ids.map((id) => ({ internalId: `${id}` })),
      },
    },
  },
});

test.each(FOUND)("a search by words finds a run by $case", async ({ words, ids }) => {
  const { ask, service } = await startRows(ROWS);
  const answer = await ask(queryOf("experiments", `filter: { words: ${JSON.stringify(words)} }`));
  expect(answer).toEqual(found(ids));
  expect(service.inOrder()).toEqual(["GET ada/mnist/experiments?limit=500"]);
});

test.each(["jobs", "buildJobs", "groups"])("a search by words also finds %s", async (list) => {
  const { ask } = await startRows(ROWS);
  expect(await ask(queryOf(list, `filter: { words: "wide" }`))).toEqual(found([3, 4]));
});

test("searches only the first 20,000 characters of a run's tags", async () => {
  const tags = Array.from({ length: 2_000 }, (_, index) => `${index}`.padStart(9, "t"));
  const { ask } = await startRows([{ id: 1, tags }]);
  const listed = async (words: string) => ask(queryOf("experiments", `filter: { words: "${words}" }`));
  expect(await listed("tt1999")).toMatchObject({ data: { project: { list: { totalCount: 1 } } } });
  const { ask: askOther } = await startRows([{ id: 1, tags: ["x", ...tags] }]);
  expect(await askOther(queryOf("experiments", `filter: { words: "ttt1999" }`))).toMatchObject({
    data: { project: { list: { totalCount: 0 } } },
  });
});

test("searches list rows with long strings in time slices", async () => {
  const rows = Array.from({ length: 100 }, (_, index) => ({
    id: index + 1,
    description: `${"\ufdfa ".repeat(2_480)}${"-".repeat(index)} needles ${"\ufdfa".repeat(5_000)}`,
  }));
  const { ask } = await startRows(rows, { CACHE_TTL_MS: "600000", CACHE_BYTES: "100000000" });
  const query = queryOf("experiments", `first: 100, filter: { words: "needles" }`);
  expect(await ask(query)).toMatchObject({ data: { project: { list: { totalCount: 100 } } } });
  expect(await longestShareOf(() => ask(query))).toBeLessThan(0.4);
});

test("normalizes a row's long strings once for all fields of an operation", async () => {
  const rows = [1, 2].map((id) => ({
    id,
    name: `n${id}`,
    description: `${id}${"x".repeat(998)}`,
    tags: ["t"],
  }));
  const { ask, service } = await startRows(rows);
  const folded = vi.spyOn(String.prototype, "normalize");
  onTestFinished(() => folded.mockRestore());
  const listed = (words: string) => `${words}: experiments(filter: { words: "${words}" }) { totalCount }`;
  const answer = await ask(inProject(`${listed("xx")} ${listed("n1")} ${listed("t")} ${listed("none")}`));
  const [xx, n1, t, none] = [2, 1, 2, 0].map((totalCount) => ({ totalCount }));
  expect(answer).toEqual({ data: { project: { xx, n1, t, none } } });
  const texts = folded.mock.contexts.map((text) => `${text as string}`);
  const long = texts.filter((text) => text.length > 100);
  expect(long).toEqual(rows.map(({ description }) => description));
  expect(service.inOrder()).toEqual(["GET ada/mnist/experiments?limit=500"]);
});

test("a search by words also finds projects", async () => {
  const { ask, calls } = await startRows([
    { name: "mnist", description: "Handwritten digits", tags: ["vision"] },
    { name: "speech", description: null, tags: ["audio", "digits"] },
    { name: "vision-2", description: `${"-".repeat(20_000)} digits`, tags: null },
  ]);
  const fields = `{ nodes { name } totalCount scan { scannedRows isComplete } pageInfo { hasNextPage } }`;
  const page = (...names: string[]) => ({
    nodes: names.map((name) => ({ name })),
    totalCount: names.length,
    scan: { scannedRows: 3, isComplete: true },
    pageInfo: { hasNextPage: false },
  });
  const answer = await ask(`{
    projects(owner: "ada", words: "VISION digits") ${fields}
    user(username: "ada") { projects(words: "digits") ${fields} }
    none: projects(owner: "ada", words: "") { totalCount }
    moved: projects(owner: "ada", words: "a", offset: 1) { totalCount }
  }`);
  expect(answer.data).toEqual({
    projects: page("mnist"),
    user: { projects: page("mnist", "speech") },
    none: null,
    moved: null,
  });
  expect(sortedErrorsOf(answer)).toEqual([
    failure("moved", "BAD_USER_INPUT", "offset: expected none where the gateway scans the list"),
    failure("none", "BAD_USER_INPUT", "words: expected at least one word, got none"),
  ]);
  expect(calls()).toEqual(["GET ada?limit=500"]);
});

test("a search by words combines with server-side conditions and list summaries", async () => {
  const { ask, calls } = await startRows(ROWS);
  const filter = `filter: { words: "baseline", statuses: [FAILED] }`;
  expect(await ask(inProject(`experiments(${filter}) { summary { total isComplete } }`))).toMatchObject({
    data: { project: { experiments: { summary: { total: 2, isComplete: true } } } },
  });
  expect(calls()).toEqual([
    "GET ada/mnist/experiments?sort=created_at%2C-updated_at&query=status%3Afailed&limit=500",
  ]);
});
