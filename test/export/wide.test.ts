import { describe, expect, test } from "vitest";
import { PROJECT, row, startExports } from "../support/exported.ts";

/* Runs with very many parameters. */

const SAME = { created_at: "2026-01-01T00:00:00Z" };
const named = (count: number, name: (index: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), index]));
const padded = (index: number) => `p${String(index).padStart(3, "0")}`;

describe("an export of runs with more parameters than a table can show", () => {
  test("has long names only in the lines of the runs that have them", async () => {
    const long = named(400, (index) => padded(index).padEnd(9_000, "x"));
    const { get } = await startExports([
      row(1, { ...SAME, declarations: { lr: 1, ...long } }),
      row(2, { ...SAME, declarations: { lr: 2 } }),
    ]);
    const lines = (await (await get(`${PROJECT}/runs.ndjson`)).text()).trim().split("\n");
    const [first, second] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect([first?.["param.lr"], second?.["param.lr"], second?.["others"]]).toEqual([1, 2, null]);
    // Nothing is lost.
    expect(Object.keys({ ...first, ...Object(first?.["others"]) })).toEqual(
      expect.arrayContaining(Object.keys(long).map((name) => `param.${name}`)),
    );
    expect(lines[1]?.length).toBeLessThan(40_000);
  });

  test("has the most frequent ones as columns, and the others in the last one", async () => {
    const { get } = await startExports([
      row(1, {
        declarations: { ...named(600, (index) => `own${index}`), shared: 1 },
        last_metric: { loss: 1 },
      }),
      row(2, { declarations: { ...named(300, (index) => `zz${index}`), shared: 2 }, last_metric: {} }),
    ]);
    const text = await (await get(`${PROJECT}/runs.ndjson`)).text();
    const [first, second] = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const columns = Object.keys(first ?? {});
    expect(columns.filter((name) => name.startsWith("param."))).toHaveLength(500);
    expect(columns.slice(-2)).toEqual(["metric.loss", "others"]);
    expect([first?.["param.shared"], second?.["param.shared"], first?.["metric.loss"]]).toEqual([1, 2, 1]);
    // Nothing is lost.
    const others = [first, second].map((line) => Object.keys(Object(line?.["others"])).length);
    const given = [first, second].map(
      (line) =>
        Object.entries(line ?? {}).filter(([name, value]) => name.startsWith("param.") && value !== null)
          .length,
    );
    expect([(others[0] ?? 0) + (given[0] ?? 0), (others[1] ?? 0) + (given[1] ?? 0)]).toEqual([601, 301]);
  });

  test("has the names that its caller wants", async () => {
    const { get } = await startExports([row(1, { declarations: named(600, padded) })]);
    const response = await get(`${PROJECT}/runs.csv?columns=param.p599,param.p000`);
    expect(await response.text()).toBe("param.p599,param.p000\r\n599,0\r\n");
  });
});
