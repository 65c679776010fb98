import { describe, expect, test } from "vitest";
import { PROJECT, row, startExports } from "../support/exported.ts";

/* Runs with very many parameters. */

const SAME = { created_at: "2026-01-01T00:00:00Z" };
const named = (count: number, name: (index: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), index]));
/** The lines of the NDJSON of two runs. */
async function linesOf(...runs: readonly [object, object]) {
  const { get } = await startExports(runs.map((run, index) => row(index + 1, { ...SAME, ...run })));
  const lines = (await (await get(`${PROJECT}/runs.ndjson`)).text()).trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}
const padded = (index: number) => `p${String(index).padStart(3, "0")}`;

describe("an export of runs with too many parameters for a table", () => {
  test("does not repeat a long parameter name in lines of other runs", async () => {
    const long = named(400, (index) => padded(index).padEnd(9_000, "x"));
    const [first, second] = await linesOf({ declarations: { lr: 1, ...long } }, { declarations: { lr: 2 } });
    expect([first?.["parameter.lr"], second?.["parameter.lr"], second?.["others"]]).toEqual([1, 2, null]);
    // No parameter is lost.
    expect(Object.keys({ ...first, ...Object(first?.["others"]) })).toEqual(
      expect.arrayContaining(Object.keys(long).map((name) => `parameter.${name}`)),
    );
    expect(JSON.stringify(second).length).toBeLessThan(40_000);
  });

  test("has columns for frequent parameters, and one last column for the rest", async () => {
    const [first, second] = await linesOf(
      { declarations: { ...named(600, (index) => `own${index}`), shared: 1 }, last_metric: { loss: 1 } },
      { declarations: { ...named(300, (index) => `zz${index}`), shared: 2 }, last_metric: {} },
    );
    const columns = Object.keys(first ?? {});
    expect(columns.filter((name) => name.startsWith("parameter."))).toHaveLength(500);
    expect(columns.slice(-2)).toEqual(["metric.loss", "others"]);
    expect([first?.["parameter.shared"], second?.["parameter.shared"], first?.["metric.loss"]]).toEqual([
      1, 2, 1,
    ]);
    // No parameter is lost.
    const counts = [first, second].map((line) => {
      const given = Object.entries(line ?? {}).filter(
        ([name, value]) => name.startsWith("parameter.") && value !== null,
      );
      return given.length + Object.keys(Object(line?.["others"])).length;
    });
    expect(counts).toEqual([601, 301]);
  });

  test("flattens eight levels of nesting; a deeper object stays one value", async () => {
    const nested = (levels: number): object =>
      Array.from({ length: levels }).reduce<object>((inner) => ({ k: inner }), { lr: 1 });
    const [first, second] = await linesOf({ declarations: nested(7) }, { declarations: nested(9) });
    const path = "parameter.k.k.k.k.k.k.k";
    expect([first?.[`${path}.lr`], first?.[`${path}.k`]]).toEqual([1, null]);
    expect([second?.[`${path}.lr`], second?.[`${path}.k`]]).toEqual([null, { k: { lr: 1 } }]);
  });

  test("chooses like GraphQL between two parameters with the same name", async () => {
    const given = { ...named(600, (index) => `own${index}`), "a.b": { c: 2 }, a: { "b.c": 1 } };
    const [first] = await linesOf({ declarations: given }, { declarations: { lr: 1 } });
    expect({ ...first, ...Object(first?.["others"]) }).toMatchObject({ "parameter.a.b.c": 2 });
  });

  test("has exactly the columns that the caller names", async () => {
    const { get } = await startExports([row(1, { declarations: named(600, padded) })]);
    const response = await get(`${PROJECT}/runs.csv?columns=parameter.p599,parameter.p000`);
    expect(await response.text()).toBe("parameter.p599,parameter.p000\r\n599,0\r\n");
  });
});
