import { describe, expect, test } from "vitest";
import { type Asked, BEYOND_ROWS, type BeyondRow } from "../support/beyond-rows.ts";
import { outcomeOf } from "../support/errors.ts";
import { startGateway } from "../support/gateway.ts";
import { ITEMS, type Row } from "../support/recorded-items.ts";
import { recordedAs } from "../support/recorded-server.ts";
import { type Line, lineOf, plain, readRecording, startReplay } from "../support/replay.ts";

const beyond = readRecording("0.4.4-beyond");
const reads = readRecording("0.2.0-reads");
const writes = readRecording("0.2.0-writes");

const isAsked = (row: BeyondRow): row is Asked => "document" in row;

const tokenIn = ({ headers }: Line) => headers["Authorization"]?.replace("token ", "") ?? null;

/** The caller's name, as release 0.2.0 told it, for the token of a line. */
const viewerFor = ({ headers }: Line): Line => ({ ...lineOf(reads, "user me alice"), headers });

/** The body of a command; an empty one is none. */
const bodyOf = (text: string) => (text === "" || text === "{}" ? null : (JSON.parse(text) as unknown));
const recordedBody = (body: unknown) => bodyOf(JSON.stringify(body ?? {}));

const CODES: Readonly<Record<number, string>> = {
  400: "BAD_USER_INPUT",
  403: "FORBIDDEN",
  500: "UPSTREAM_ERROR",
};

const LIST = { at: "thing.list", data: { list: null } };

/** What is told of what the server refused, in the words of the server unless it crashed. */
const refused = ({ status, json }: Line, { at, data } = LIST as NonNullable<Asked["refused"]>) => ({
  data: { thing: data },
  errors: [
    {
      at,
      code: CODES[status],
      message: Array.isArray(json)
        ? json.join(" ")
        : ((json as Row | undefined)?.["detail"] ?? `The service answered ${status}.`),
      upstream: { method: "GET", status },
    },
  ],
});

/** Asks for recorded exchanges, which are all that the service knows, and compares what was sent with them. */
async function replay(lines: readonly Line[], document: string, profile: string) {
  const upstream = await startReplay(lines);
  const { ask } = await startGateway({
    upstream,
    token: lines[0] ? tokenIn(lines[0]) : null,
    env: { UPSTREAM_PROFILE: profile },
  });
  const outcome = outcomeOf(await ask<{ thing: unknown }, object>(document));
  const sent = upstream.seen().map(({ method, path, body }) => [method, ...plain(path), bodyOf(body)]);
  const recorded = lines.map(({ method, path, body }) => [method, ...plain(path), recordedBody(body)]);
  // Some go side by side.
  const inOrder = (requests: readonly unknown[][]) =>
    requests.toSorted((a, b) => a.join().localeCompare(b.join()));
  expect(inOrder(sent)).toEqual(inOrder(recorded));
  return outcome;
}

describe("release 0.4.4 beyond the document", () => {
  const asked = Object.entries(BEYOND_ROWS).flatMap(([name, row]) =>
    isAsked(row) ? [[name, row] as const] : [],
  );

  test("each of its 104 recordings is asked for, or has its reason", () => {
    expect(Object.keys(BEYOND_ROWS)).toEqual(beyond.map((line) => line.case));
    expect(beyond).toHaveLength(104);
    expect(asked).toHaveLength(91);
  });

  test.each(asked)("%s", async (name, { document, told, behind, isOfViewer = false, refused: how }) => {
    const line = lineOf(beyond, name);
    const besides = behind === undefined ? [] : [lineOf(beyond, behind)];
    const lines: readonly Line[] = [...(isOfViewer ? [viewerFor(line)] : []), line, ...besides];
    // Rows without `behind` do not look at it.
    const records = [line, ...besides].map(({ json }) => json as Row);
    const [answer = {}, record = {}] = records;
    expect(await replay(lines, document, "polyaxon-0.4")).toMatchObject(
      line.status < 300 ? { data: { thing: told(answer, record) }, errors: [] } : refused(line, how),
    );
  });
});

describe("release 0.2.0", () => {
  test.each([
    ["experiment bookmarks list", "bookmarkedExperiments", "experiments"],
    ["job bookmarks list", "bookmarkedJobs", "jobs"],
    ["build bookmarks list", "bookmarkedBuildJobs", "builds"],
    ["group bookmarks list", "bookmarkedGroups", "groups"],
  ] as const)("has bookmarks as well: %s", async (name, field, item) => {
    const line = lineOf(writes, name);
    const { results } = recordedAs(writes, name) as { results: readonly { content_object: Row }[] };
    const document = `{ thing: viewer { ${field} { nodes { ${ITEMS[item].fields} } } } }`;
    expect(await replay([viewerFor(line), line], document, "polyaxon-0.2")).toEqual({
      data: {
        thing: {
          [field]: {
            nodes: results.map((row) => ITEMS[item].node({ ...row.content_object, bookmarked: true })),
          },
        },
      },
      errors: [],
    });
  });
});
