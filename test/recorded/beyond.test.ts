import { describe, expect, test } from "vitest";
import { BEYOND_ROWS } from "../support/beyond-rows.ts";
import { ITEMS, type Row } from "../support/recorded-items.ts";
import { answerTo, isAsked, replay, viewerFor } from "../support/recorded-rows.ts";
import { recordedAs, recordedWrites as writes } from "../support/recorded-server.ts";
import { lineOf, readRecording } from "../support/replay.ts";

const beyond = readRecording("0.4.4-beyond");
const TYPES = { experiments: "Experiment", jobs: "Job", builds: "BuildJob", groups: "Group" } as const;

describe("release 0.4.4 beyond the document", () => {
  const asked = Object.entries(BEYOND_ROWS).flatMap(([name, row]) =>
    isAsked(row) ? [[name, row] as const] : [],
  );

  test("each of its 104 recordings is asked for, or has its reason", () => {
    expect(Object.keys(BEYOND_ROWS).toSorted()).toEqual(beyond.map((line) => line.case).toSorted());
    expect(beyond).toHaveLength(104);
    expect(asked).toHaveLength(91);
  });

  test.each(asked)("%s", async (name, row) => {
    const { given, recorded } = await answerTo(beyond, name, row);
    expect(given).toMatchObject(recorded);
  });
});

describe("release 0.2.0", () => {
  test.each([
    ["experiment bookmarks list", "EXPERIMENT", "experiments"],
    ["job bookmarks list", "JOB", "jobs"],
    ["build bookmarks list", "BUILD_JOB", "builds"],
    ["group bookmarks list", "GROUP", "groups"],
  ] as const)("has bookmarks as well: %s", async (name, kind, item) => {
    const line = lineOf(writes, name);
    const { results } = recordedAs(writes, name) as { results: readonly { content_object: Row }[] };
    const document = `{ thing: viewer { bookmarks(kind: ${kind}) { nodes { ... on ${TYPES[item]} { ${ITEMS[item].fields} } } } } }`;
    expect(await replay([viewerFor(line), line], document, "polyaxon-0.2")).toEqual({
      data: {
        thing: {
          bookmarks: {
            nodes: results.map((row) => ITEMS[item].node({ ...row.content_object, bookmarked: true })),
          },
        },
      },
      errors: [],
    });
  });
});
