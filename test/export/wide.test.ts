import { tableFromIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { PROJECT, query, row, startExports } from "../support/exported.ts";

/** Parameters by names of so many letters. */
const declared = (count: number, letters: number, from = 0) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`${from + index}`.padStart(letters, "x"), index]),
  );

/** The lines of an NDJSON export as they are parsed. */
async function linesOf(rows: readonly object[]): Promise<readonly Record<string, unknown>[]> {
  const { get } = await startExports(rows);
  const response = await get(`${PROJECT}/runs.ndjson`);
  expect(response.status).toBe(200);
  const text = await response.text();
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

const parametersIn = (line: object) => Object.keys(line).filter((name) => name.startsWith("param."));

test("what runs have beyond a thousand parameters and metrics stands in `others`", async () => {
  const rows = Array.from({ length: 20 }, (_, index) =>
    row(index + 1, { declarations: declared(100, 6, 100 * index) }),
  );
  const lines = await linesOf(rows);
  expect(lines.map((line) => parametersIn(line).length)).toEqual(rows.map(() => 1_000));
  // The first thousand by name.
  expect(lines[13]).toMatchObject({ "param.xx1300": 0, others: null });
  expect(lines[3]).toMatchObject({
    "param.xx1300": null,
    others: { "param.xxx300": 0, "param.xxx399": 99 },
  });
});

test("names that would make each row long stand in `others` of the runs that have them", async () => {
  const long = declared(900, 9_000);
  const rows = Array.from({ length: 500 }, (_, index) =>
    row(index + 1, { created_at: null, declarations: index === 0 ? { lr: 1, ...long } : {} }),
  );
  const [first, ...further] = await linesOf(rows);
  expect(first?.["param.lr"]).toBe(1);
  const names = [...parametersIn(first ?? {}), ...Object.keys(first?.["others"] ?? {})];
  expect(names).toHaveLength(901);
  expect(further).toHaveLength(499);
  expect(JSON.stringify(further[0]).length).toBeLessThan(40_000);
});

test("wide rows are several batches of an Arrow stream, whose types are those of the whole page", async () => {
  const columns = Object.keys(declared(1_000, 4)).map((name) => `param.${name}`);
  const rows = Array.from({ length: 120 }, (_, index) =>
    row(index + 1, { created_at: null, declarations: index < 100 ? {} : declared(1_000, 4) }),
  );
  const { get } = await startExports(rows);
  const response = await get(`${PROJECT}/runs.arrow${query({ columns: columns.join(",") })}`);
  const table = tableFromIPC(new Uint8Array(await response.arrayBuffer()));
  expect(table.batches.map(({ numRows }) => numRows)).toEqual([50, 50, 20]);
  expect(table.getChild("param.x999")?.get(0)).toBeNull();
  expect(table.getChild("param.x999")?.get(119)).toBe(999);
});
