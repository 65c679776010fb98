import { expect, test } from "vitest";
import { sections, user } from "../../src/rest/api/kinds.ts";
import type { Reader } from "../../src/rest/api/reader.ts";
import type { Reading } from "../../src/rest/api/record.ts";
import { contractRows, unnamed } from "../support/contract.ts";
import KEYS from "./record-keys.json" with { type: "json" };
import { type Line, lineOf, readRecording, RECORDINGS } from "../support/replay.ts";

/**
 * What a decoded value must be, worked out from the JSON that was recorded. The casts to `never` below hand it whatever
 * the service sent: another shape than the document's fails the comparison.
 */
type Expected = (json: never) => unknown;

/** The documented keys of an object, only those that arrived; some are decoded further. */
const keys =
  (names: string, further: Readonly<Record<string, Expected>> = {}) =>
  (json: object): object =>
    Object.fromEntries(
      Object.entries(json)
        .filter(([name]) => names.split(/\s+/).includes(name))
        .map(([name, value]) => {
          const decoded = further[name];
          return [name, decoded && value !== null ? decoded(value as never) : value];
        }),
    );
const each = (item: Expected) => (list: readonly never[]) => list.map(item);
// `previous` is not read: lists go forward only.
const page = (item: Expected) => keys("count next results", { results: each(item) });

/* The tables of the document's "Resources and their fields". */
const experiment = keys(KEYS.experiment);
const metric = keys(KEYS.metric);
const experimentJob = keys(KEYS.experimentJob);
const job = keys(KEYS.job);
const build = keys(KEYS.build);
const group = keys(KEYS.group);
// What a status belongs to (`experiment`, `job`, `experiment_group`) is told by the path that was asked.
const status = keys("id uuid created_at message status details");
const summary = "uuid sequence name hostname role memory cpu n_gpus";
const node = keys(KEYS.node);
const cluster = keys(KEYS.cluster, {
  version_api: keys(
    "major minor go_version platform git_version compiler build_date git_commit git_tree_state",
  ),
  nodes: each(keys(summary)),
});

/** The document's rows that answer with JSON, how many good answers were recorded, and what they hold. */
const jsonRows: readonly (readonly [row: string, answers: number, expected: Expected])[] = [
  ["POST users/token/", 6, keys(KEYS.token)],
  ["GET users/", 11, keys(KEYS.user)],
  ["GET {u}/{p}/experiments/{id}/", 38, experiment],
  ["PATCH {u}/{p}/experiments/{id}/", 33, experiment],
  ["POST {u}/{p}/experiments/{id}/restart/", 8, experiment],
  ["POST {u}/{p}/experiments/{id}/resume/", 9, experiment],
  ["POST {u}/{p}/experiments/{id}/copy", 8, experiment],
  ["GET {u}/{p}/experiments/{id}/statuses", 10, page(status)],
  ["GET {u}/{p}/experiments/{id}/metrics", 9, page(metric)],
  ["POST {u}/{p}/experiments/{id}/metrics", 7, metric],
  ["GET {u}/{p}/experiments/{id}/jobs", 8, page(experimentJob)],
  ["GET {u}/{p}/experiments/{experiment_id}/jobs/{id}/", 4, experimentJob],
  ["GET {u}/{p}/experiments/{experiment_id}/jobs/{id}/statuses/", 2, page(status)],
  ["GET {u}/{p}/jobs/{id}/", 12, job],
  ["PATCH {u}/{p}/jobs/{id}/", 5, job],
  ["GET {u}/{p}/jobs/{id}/statuses/", 3, page(status)],
  ["POST {u}/{p}/jobs/{id}/restart", 4, job],
  // These two are in the document but in no release.
  ["POST {u}/{p}/jobs/{id}/resume", 0, job],
  ["POST {u}/{p}/jobs/{id}/copy", 0, job],
  ["GET {u}/{p}/builds/{id}/", 11, build],
  ["PATCH {u}/{p}/builds/{id}/", 5, build],
  ["GET {u}/{p}/builds/{id}/statuses", 2, page(status)],
  ["GET {u}/{p}/groups/{id}/", 13, group],
  ["PATCH {u}/{p}/groups/{id}/", 5, group],
  ["GET {u}/{p}/groups/{id}/statuses", 2, page(status)],
  ["GET cluster/", 2, cluster],
  ["GET nodes/{sequence}", 4, node],
];

const project = keys(
  `name unique_name description readme tags is_public bookmarked created_at updated_at has_code has_tensorboard has_notebook
  num_experiments num_independent_experiments num_experiment_groups num_jobs num_builds`,
);
const code = keys("branch commit head is_dirty git_url");
const bookmark = (item: Expected) => keys("content_object", { content_object: item });

/** The same of optional endpoints, in our own spelling. */
const optionalRows: typeof jsonRows = [
  ["GET {owner}", 11, page(project)],
  ["GET {owner}/{project}", 9, project],
  ["GET {owner}/{project}/experiments/{id}/coderef", 2, code],
  ["GET {owner}/{project}/experiments/{id}/outputs/tree", 2, keys("dirs files")],
  ["GET {owner}/{project}/jobs/{id}/outputs/tree", 1, keys("dirs files")],
  ["GET {owner}/{project}/experiments", 93, page(experiment)],
  ["GET {owner}/{project}/jobs", 20, page(job)],
  ["GET {owner}/{project}/builds", 20, page(build)],
  ["GET {owner}/{project}/groups", 21, page(group)],
  ["GET {owner}/{project}/groups/{id}/metrics", 2, page(metric)],
  ["GET bookmarks/{owner}/experiments", 5, page(bookmark(experiment))],
  ["GET bookmarks/{owner}/jobs", 2, page(bookmark(job))],
  ["GET bookmarks/{owner}/builds", 2, page(bookmark(build))],
  ["GET bookmarks/{owner}/groups", 2, page(bookmark(group))],
  ["GET bookmarks/{owner}/projects", 2, page(bookmark(project))],
  ["GET archives/{owner}/experiments", 1, page(experiment)],
  ["GET archives/{owner}/jobs", 1, page(job)],
  ["GET archives/{owner}/builds", 1, page(build)],
  ["GET archives/{owner}/groups", 1, page(group)],
  ["GET archives/{owner}/projects", 2, page(project)],
  ["PATCH {owner}/{project}", 6, project],
  ["POST projects", 2, project],
];

type Section = Readonly<Record<string, { method: string; path: string; answer: Reader<unknown> }>>;

const readersOf = (tables: readonly Section[]): ReadonlyMap<string, Reader<unknown>> =>
  new Map(
    tables
      .flatMap((section) => Object.values(section))
      .map(({ method, path, answer }) => [unnamed(`${method} ${path}`), answer]),
  );
const { optional, ...ofDocument } = sections;
const documented = readersOf(Object.values(ofDocument));
const readers = new Map([...documented, ...readersOf([optional ?? {}])]);

const answered = RECORDINGS.flatMap(readRecording).filter((line) => [200, 201].includes(line.status));

/** What the lines of each row look like. Only users have projects: under other first words is something else. Ids are digits. */
const patterns = [...readers.keys()].map((row) => {
  const [method, path = ""] = row.replace(/\/$/, "").split(" ");
  const filled = path
    .replace(/^\{\}/, "(?:alice|al%69ce|bob|nobody)")
    .replaceAll(/(experiments|jobs|builds|groups)\/\{\}/g, String.raw`$1/\d+`)
    .replaceAll("{}", "[^/?]+");
  return [row, new RegExp(`^${method} /api/v1/${filled}/?(?:\\?.*)?$`)] as const;
});

/** The row of a line. A slash at the end and a query make no difference. */
const rowOf = ({ method, path }: Line) =>
  patterns.find(([, pattern]) => pattern.test(`${method} ${path}`))?.[0];

/** The good answers that were recorded for a row. */
const answersTo = (row: string) => answered.filter((line) => rowOf(line) === unnamed(row));

test.each([...jsonRows, ...optionalRows])(
  "%s: each of %i recorded answers reads without fault and without loss",
  (row, answers, expected) => {
    const reader = readers.get(unnamed(row));
    const lines = answersTo(row);
    expect(reader?.form).toBe("json");
    expect(lines).toHaveLength(answers);
    const known = (reading: Reading<unknown> | undefined) => ({
      ...reading,
      answer: expected(reading?.answer as never),
    });
    expect(lines.map(({ case: name, json }) => ({ name, ...known(reader?.read(json)) }))).toStrictEqual(
      lines.map(({ case: name, json }) => ({ name, answer: expected(json as never), faults: [] })),
    );
  },
);

test("a row is read as the document shows its answer: as text, as bytes, or not at all", () => {
  for (const form of ["text", "bytes", "nothing"]) {
    const shown = contractRows.filter(({ content }) => content === form).map(({ row }) => unnamed(row));
    const read = [...documented].filter(([, reader]) => reader.form === form).map(([row]) => row);
    expect(read).toEqual(shown);
  }
});

test("every row whose answer is JSON and was recorded is held against its recordings", () => {
  const json = [...readers].filter(([row, { form }]) => form === "json" && answersTo(row).length > 0);
  const held = new Set([...jsonRows, ...optionalRows].map(([row]) => unnamed(row)));
  expect(json.map(([row]) => row).filter((row) => !held.has(row))).toEqual([]);
});

test("what the document shows no answer of, and streams, were recorded with its status", () => {
  const others = contractRows.filter(({ content }) => ["text", "bytes", "nothing"].includes(content));
  const recorded = others.flatMap((row) => answersTo(row.row).map((line) => [row, line] as const));
  expect(recorded.length).toBeGreaterThan(0);
  expect(recorded.filter(([row, line]) => line.status !== row.status)).toEqual([]);
});

test("a key that did not arrive stays absent, so that it can still be loaded or told apart from null", () => {
  const { json } = lineOf(readRecording("0.2.0-reads"), "user me no token");
  const { answer, faults } = user.me.answer.read(json as never) as Reading<object>;
  expect({ ...answer, faults }).toMatchObject({ username: "", is_superuser: false, faults: [] });
  expect(answer).not.toHaveProperty("email");
});
