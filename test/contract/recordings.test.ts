import { expect, test } from "vitest";
import { sections } from "../../src/rest/api/kinds.ts";
import type { Reader } from "../../src/rest/api/reader.ts";
import { isObject } from "../../src/rest/api/record.ts";
import { receivedConfig, type RunConfig } from "../../src/rest/api/run-config.ts";
import { contractRows, unnamed } from "../support/contract.ts";
import RECORDED from "./recorded-answers.json" with { type: "json" };
import KEYS from "./record-keys.json" with { type: "json" };
import { type Line, readRecording, RECORDINGS } from "../support/replay.ts";

/**
 * Derives the expected decoded value from the recorded JSON. The casts to `never` below pass any JSON of the service: a shape that differs
 * from the document's fails the comparison.
 */
type Expected = (json: never) => unknown;

/** The documented keys that an object has; some values are decoded further. */
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

/**
 * Expected decoded records, by name: the tables of the document's "Resources and their fields", and our own. The path of the request
 * determines which kind of record a status belongs to (`experiment`, `job`, `experiment_group`).
 */
const RECORDS: Readonly<Record<string, Expected>> = {
  ...Object.fromEntries(Object.entries(KEYS).map(([name, known]) => [name, keys(known)])),
  cluster: keys(KEYS.cluster, { version_api: keys(KEYS.version), nodes: each(keys(KEYS.clusterNode)) }),
};

/** Parses the name of a content: `page of kept job`, for example, is a page of records that contain a job. */
function expectedOf(content: string): Expected {
  const [, isPage, isKept, name = ""] = /^(page of )?(kept )?(\w+)$/.exec(content) ?? [];
  const record = RECORDS[name];
  if (!record) throw new TypeError(`expected the name of a record, got ${content}`);
  const item = isKept ? keys("content_object", { content_object: record }) : record;
  return isPage ? page(item) : item;
}

/** Rows with a JSON response, and the content of the response. Optional endpoints use our own spelling. */
const jsonRows = Object.entries(RECORDED);

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

/** Patterns for the lines of each row. Only users have projects: a different first word is another endpoint. Ids are digits. */
const patterns = [...readers.keys()].map((row) => {
  const [method, path = ""] = row.replace(/\/$/, "").split(" ");
  const filled = path
    .replace(/^\{\}/, "(?:alice|al%69ce|bob|erin|nobody)")
    .replaceAll(/(experiments|jobs|builds|groups)\/\{\}/g, String.raw`$1/\d+`)
    .replaceAll("{}", "[^/?]+");
  return [row, new RegExp(`^${method} /api/v1/${filled}/?(?:\\?.*)?$`)] as const;
});

/** The row of a line. A trailing slash and a query make no difference. */
const rowOf = ({ method, path }: Line) =>
  patterns.find(([, pattern]) => pattern.test(`${method} ${path}`))?.[0];

/** The recorded successful responses of a row. */
const answersTo = (row: string) => answered.filter((line) => rowOf(line) === unnamed(row));

/** A record with its configuration as received, if that is a string. */
const asReceived = (answer: unknown): unknown =>
  isObject(answer) && answer["config"] != null
    ? { ...answer, config: receivedConfig(answer["config"] as RunConfig) }
    : answer;

test.each(jsonRows)("%s: reads every recorded response without mismatch or loss", (row, content) => {
  const expected = expectedOf(content);
  const reader = readers.get(unnamed(row));
  const lines = answersTo(row);
  expect(reader?.form).toBe("json");
  expect(lines).not.toEqual([]);
  const known = (json: unknown) => {
    const steps = reader?.form === "json" ? reader.parseTask(json) : null;
    let step = steps?.next();
    while (step?.done === false) step = steps?.next();
    return { ...step?.value, answer: expected(asReceived(step?.value?.answer) as never) };
  };
  expect(lines.map(({ case: name, json }) => ({ name, ...known(json) }))).toStrictEqual(
    lines.map(({ case: name, json }) => ({ name, answer: expected(json as never), mismatches: [] })),
  );
});

test("reads text, bytes or nothing, as the document specifies for each endpoint", () => {
  for (const form of ["text", "bytes", "nothing"]) {
    const shown = contractRows.filter(({ content }) => content === form).map(({ row }) => unnamed(row));
    const read = [...documented].filter(([, reader]) => reader.form === form).map(([row]) => row);
    expect(read).toEqual(shown);
  }
});

test("every endpoint with recorded JSON responses is checked against its recordings", () => {
  const json = [...readers].filter(([row, { form }]) => form === "json" && answersTo(row).length > 0);
  const covered = new Set(jsonRows.map(([row]) => unnamed(row)));
  expect(json.map(([row]) => row).filter((row) => !covered.has(row))).toEqual([]);
});
