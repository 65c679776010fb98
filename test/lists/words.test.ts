import { describe, expect, test } from "vitest";
import { errorsOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { turnsOf } from "../support/turns.ts";
import { subscribe } from "../support/subscriber.ts";

/* Servers search no texts. Runs are found by words in a scan of the list. */

const ROWS = [
  { id: 1, name: "Baseline", description: "Small kernels, digits of MNIST", tags: ["prod"] },
  { id: 2, name: null, description: "The BASELINE again, with dropout", tags: ["digits"] },
  { id: 3, name: "wide", description: null, tags: null },
  { id: 4, tags: ["wide-kernels", "Größe"] },
];

async function startRows() {
  const service = await startFake(() => ({ json: { count: ROWS.length, next: null, results: ROWS } }));
  return {
    ...(await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } })),
    service,
  };
}

interface Found {
  readonly project: {
    readonly list: {
      readonly totalCount: number;
      readonly scan: object;
      readonly nodes: readonly { internalId: string }[];
    };
  };
}

const queryOf = (list: string, args: string) =>
  `{ project(owner: "ada", name: "mnist") { list: ${list}(${args}) { totalCount scan { rowsRead isComplete } nodes { internalId } } } }`;

describe("a run is found by", () => {
  test.each([
    ["a word of its name or description, in any case", "baseline", [1, 2]],
    ["words that stand in different texts of it", "digits baseline", [1, 2]],
    ["a part of a word", "kern", [1, 4]],
    ["a tag", "  prod ", [1]],
    ["letters in another spelling", "GR\u004f\u0308\u00dfe", [4]],
    ["a word that none has", "constructor", []],
    ["no number or null that a text shows", "null", []],
  ])("%s", async (_, words, ids) => {
    const { ask, service } = await startRows();
    const { data } = await ask<Found, never>(
      queryOf("experiments", `filter: { words: ${JSON.stringify(words)} }`),
    );
    expect(data.project.list.nodes.map(({ internalId }) => Number(internalId))).toEqual(ids);
    expect(data.project.list).toMatchObject({
      totalCount: ids.length,
      scan: { rowsRead: 4, isComplete: true },
    });
    expect(service.inOrder()).toEqual(["GET ada/mnist/experiments?limit=500"]);
  });
});

test.each(["jobs", "buildJobs", "groups"])("%s are found by words as well", async (list) => {
  const { ask } = await startRows();
  const { data } = await ask<Found, never>(queryOf(list, `filter: { words: "wide" }`));
  expect(data.project.list.nodes).toEqual([{ internalId: "3" }, { internalId: "4" }]);
});

test("long texts are looked at in pieces, and a word between two is found", async () => {
  const rows = Array.from({ length: 100 }, (_, index) => ({
    id: index + 1,
    description: `${"\ufdfa ".repeat(2_480)}${"-".repeat(index)} needles ${"\ufdfa".repeat(5_000)}`,
  }));
  const service = await startFake(() => ({ json: { count: rows.length, next: null, results: rows } }));
  const env = { UPSTREAM_PROFILE: "polyaxon-0.4", CACHE_TTL_MS: "600000", CACHE_BYTES: "100000000" };
  const { ask } = await startGateway({ upstream: service, env });
  const query = queryOf("experiments", `first: 100, filter: { words: "needles" }`);
  const { data } = await ask<Found, never>(query);
  expect(data.project.list.totalCount).toBe(100);
  const { all, longest } = await turnsOf(() => ask(query));
  expect(longest / all).toBeLessThan(0.4);
});

test("projects are found by words as well", async () => {
  const rows = [
    { name: "mnist", description: "Handwritten digits", tags: ["vision"] },
    { name: "speech", description: null, tags: ["audio", "digits"] },
    { name: "vision-2", tags: null },
  ];
  const service = await startFake(() => ({ json: { count: 3, next: null, results: rows } }));
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const found = `{ nodes { name } totalCount scan { rowsRead isComplete } pageInfo { hasNextPage } }`;
  const page = { scan: { rowsRead: 3, isComplete: true }, pageInfo: { hasNextPage: false } };
  expect(
    await ask(`{
      projects(owner: "ada", words: "VISION digits") ${found}
      user(username: "ada") { projects(words: "digits") ${found} }
    }`),
  ).toEqual({
    data: {
      projects: { nodes: [{ name: "mnist" }], totalCount: 1, ...page },
      user: { projects: { nodes: [{ name: "mnist" }, { name: "speech" }], totalCount: 2, ...page } },
    },
  });
  const wrong = `{ none: projects(owner: "ada", words: "") { totalCount }
    moved: projects(owner: "ada", words: "a", offset: 1) { totalCount } }`;
  expect(errorsOf(await ask(wrong))).toEqual([
    { at: "none", code: "BAD_USER_INPUT", message: "words: expected at least one word, got none" },
    {
      at: "moved",
      code: "BAD_USER_INPUT",
      message: "offset: expected none where the gateway scans the list",
    },
  ]);
  // Only what was found by words.
  expect(service.calls()).toEqual(["GET ada?limit=500"]);
});

test("words go with what the server compares, and with figures of the list", async () => {
  const { ask, service } = await startRows();
  const filter = `filter: { words: "baseline", statuses: { in: [FAILED] } }`;
  expect(
    await ask(
      `{ project(owner: "ada", name: "mnist") { experiments(${filter}) { summary { total scanned isComplete } } } }`,
    ),
  ).toMatchObject({ data: { project: { experiments: { summary: { total: 2, isComplete: true } } } } });
  expect(service.inOrder()).toEqual([
    "GET ada/mnist/experiments?sort=created_at%2C-updated_at&query=status%3Afailed&limit=500",
  ]);
});

describe("nothing is sent for", () => {
  test.each([
    ["no word", `filter: { words: " " }`, "filter.words: expected at least one word, got none"],
    [
      "a text that is too long",
      `filter: { words: "${"a".repeat(201)}" }`,
      "filter.words: expected at most 200 characters, got 201",
    ],
    [
      "an offset",
      `filter: { words: "a" }, offset: 2`,
      "offset: expected none where the gateway scans the list",
    ],
  ])("%s", async (_, args, message) => {
    const { ask, service } = await startRows();
    const answer = await ask(queryOf("experiments", args));
    expect(errorsOf(answer)).toEqual([{ at: "project.list", code: "BAD_USER_INPUT", message }]);
    expect(service.calls()).toEqual([]);
  });

  test("a subscription", async () => {
    const { url, service } = await startRows();
    const watcher = await subscribe(url, {
      query: `subscription { runsUpdated(of: "ada.mnist", filter: { words: "a" }) { reason } }`,
    });
    expect(await watcher.next()).toMatchObject({
      errors: [
        {
          message:
            "filter.words: expected none, because a subscription leaves the filter to the server, which searches no texts",
          extensions: { code: "BAD_USER_INPUT" },
        },
      ],
    });
    expect(service.calls()).toEqual([]);
  });
});
