import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { optionalEndpoints } from "../../src/rest/api/kinds.ts";
import { WrittenProfile } from "../../src/rest/api/profile.ts";

const text = readFileSync(new URL("../../docs/servers.md", import.meta.url), "utf8");

/** The names in the first column of the table below a heading. */
const rowsBelow = (heading: RegExp): string[] => {
  const [, section = ""] = text.split(heading);
  const [table = ""] = section.split(/^#/m);
  return [...table.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = ""]) => cell.match(/[\w.]+/g) ?? []);
};

test("the JSON Schema of profiles is the committed one", async () => {
  const schema = z.toJSONSchema(WrittenProfile, { io: "input" });
  await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(
    "../../schema/profile.schema.json",
  );
});

test("docs/servers.md explains every key of a profile, every optional endpoint and every way of paging", () => {
  const keys = new Set(rowsBelow(/^## Format$/m).map((key) => key.split(".")[0]));
  expect(["$schema", ...keys].toSorted()).toEqual(Object.keys(WrittenProfile.shape).toSorted());
  expect(rowsBelow(/^### Endpoints$/m).toSorted()).toEqual(Object.keys(optionalEndpoints).toSorted());
  const { options } = WrittenProfile.shape.paging.unwrap();
  expect(rowsBelow(/^### Paging$/m).toSorted()).toEqual(
    options.map(({ shape }) => shape.by.value).toSorted(),
  );
});
