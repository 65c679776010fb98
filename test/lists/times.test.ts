import { expect, test } from "vitest";
import { errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { listIn } from "../support/listed.ts";
import { profileFile } from "../support/tracker.ts";
import { inProject, startRows } from "./rows.ts";

/* Times of day in filters: the server compares days, and the gateway compares the times of their rows. */

const ROWS = [
  { id: 1, started_at: "2026-03-01T11:59:59.999999+00:00" },
  { id: 2, started_at: "2026-03-01T13:00:00+01:00" },
  { id: 3, started_at: "2026-03-01T12:30:00.25Z" },
  { id: 4, started_at: null },
  { id: 5, started_at: "2026-03-02T00:00:00Z" },
];

const zoned = (timeZone: string) => profileFile(`extends: polyaxon-0.4\ntimeZone: ${timeZone}`);

const FROM = "2026-03-01T12:00:00Z";

test.each([
  // In UTC, a day of any time zone begins at most 12 hours later and at most 14 hours earlier.
  ["polyaxon-0.4", { from: FROM }, "started_at:>=2026-03-01", [2, 3, 5]],
  ["polyaxon-0.4", { from: "2026-03-01T11:00:00Z" }, "started_at:>=2026-02-28", [1, 2, 3, 5]],
  ["polyaxon-0.4", { before: "2026-03-01T12:30:00.25Z" }, "started_at:<2026-03-03", [1, 2]],
  ["polyaxon-0.4", { before: "2026-03-01T07:00:00-03:00" }, "started_at:<2026-03-03", []],
  [
    "polyaxon-0.4",
    { from: FROM, before: "2026-03-02" },
    "started_at:>=2026-03-01,started_at:<2026-03-02",
    [2, 3, 5],
  ],
  [zoned("UTC"), { from: "2026-03-01T00:00:00.5Z" }, "started_at:>=2026-03-01", [1, 2, 3, 5]],
  [zoned("UTC"), { before: "2026-03-02T00:00:00.001Z" }, "started_at:<2026-03-03", [1, 2, 3, 5]],
  [zoned("Asia/Tokyo"), { from: "2026-03-01T16:00Z" }, "started_at:>=2026-03-02", [5]],
  [zoned("Asia/Tokyo"), { before: "2026-03-01T16:00Z" }, "started_at:<2026-03-03", [1, 2, 3]],
  ["polyaxon-0.4", { from: "1970-01-01T01:00:00Z" }, null, [1, 2, 3, 5]],
])("with %s, finds %j by whole days and a scan", async (profile, startedAt, query, ids) => {
  const { ask, filters } = await startRows(ROWS, { UPSTREAM_PROFILE: profile });
  const list = `query ($filter: RunFilter) ${inProject(
    "jobs(filter: $filter) { nodes { internalId } scan { scannedRows isComplete } totalCount }",
  )}`;
  const page = listIn(await ask(list, { filter: { startedAt } }), "project.jobs");
  expect(page).toEqual({
    nodes: ids.map((id) => ({ internalId: `${id}` })),
    scan: { scannedRows: 5, isComplete: true },
    totalCount: ids.length,
  });
  expect(filters()).toEqual([query]);
});

test.each([
  ["UTC", "2026-03-01T00:00:00.000Z", "2026-03-01"],
  ["Asia/Tokyo", "2026-03-01T15:00:00Z", "2026-03-02"],
  ["Europe/Berlin", "2026-03-29T00:00:00+01:00", "2026-03-29"],
  // In that time zone, this day begins at one o'clock.
  ["America/Santiago", "2026-09-06T01:00:00-03:00", "2026-09-06"],
])("midnight in the server's time zone %s becomes a day", async (timeZone, time, day) => {
  const { ask, filters } = await startRows([], { UPSTREAM_PROFILE: zoned(timeZone) });
  const list = `jobs(filter: { createdAt: { from: "${time}" }, updatedAt: { before: "${time}" } }) { scan { scannedRows } }`;
  expect(await ask(`{ gateway { timeZone } ${inProject(list).slice(1)}`)).toEqual({
    data: { gateway: { timeZone }, project: { jobs: { scan: null } } },
  });
  expect(filters()).toEqual([`created_at:>=${day},updated_at:<${day}`]);
});

test("the server's time zone is null if the profile defines none", async () => {
  const { ask, calls } = await startRows([]);
  expect(await ask("{ gateway { timeZone } }")).toEqual({ data: { gateway: { timeZone: null } } });
  expect(calls()).toEqual([]);
});

const EXPECTED =
  "a day from 1970 to 2999 such as 2026-03-01, or a time with UTC offset such as 2026-03-01T12:30:00Z";

test.each([
  ...[
    "2026-03-01T10:00:00",
    "2026-02-30T10:00:00Z",
    "2026-03-01T25:00:00Z",
    "2026-3-1",
    "yesterday",
    "3000-01-01T00:00:00Z",
    "",
  ].map((text) => [`from: "${text}"`, `.from: expected ${EXPECTED}, got "${text}"`]),
  [
    `from: "2026-03-01T10:00:00Z", before: "2026-03-01T11:00:00+01:00"`,
    ": expected `from` before `before`, got 2026-03-01T10:00:00Z and 2026-03-01T11:00:00+01:00",
  ],
])("a range of times is refused: %s", async (range, message) => {
  const { ask, calls } = await startRows([]);
  expect(outcomeOf(await ask(inProject(`jobs(filter: { createdAt: { ${range} } }) { totalCount }`)))).toEqual(
    {
      data: { project: { jobs: null } },
      errors: [failure("project.jobs", "BAD_USER_INPUT", `filter.createdAt${message}`)],
    },
  );
  expect(calls()).toEqual([]);
});

test("a row without the filtered time is an error", async () => {
  const { ask } = await startRows([{ id: 1 }]);
  const answer = await ask(inProject(`jobs(filter: { createdAt: { from: "${FROM}" } }) { totalCount }`));
  const message = "A row of the service's list lacks `created_at`.";
  expect(outcomeOf(answer).errors).toEqual([failure("project.jobs", "UPSTREAM_BAD_RESPONSE", message)]);
});

test.each([1, true, {}, ["2026-03-01"]])("%j as a time in a variable is BAD_USER_INPUT", async (from) => {
  const { ask, calls } = await startRows([]);
  const list = `query ($from: DateTimeOrDay!) ${inProject("jobs(filter: { createdAt: { from: $from } }) { totalCount }")}`;
  const message = 'Variable "$from" got invalid value; DateTimeOrDay: expected a string';
  expect(errorsOf(await ask(list, { from }))).toEqual([{ message, code: "BAD_USER_INPUT" }]);
  expect(calls()).toEqual([]);
});
