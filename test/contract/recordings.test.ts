import { expect, test } from "vitest";
import { endpoints } from "../../src/rest/endpoints.ts";
import { type Reader } from "../../src/rest/reader.ts";
import { type Line, readRecording, RECORDINGS } from "../harness-replay.ts";

interface Row {
  readonly method: string;
  readonly path: string;
  readonly answer: Reader<unknown>;
}

const rows: readonly Row[] = Object.values(endpoints).flatMap((section) => Object.values<Row>(section));
const nameOf = ({ method, path }: Row) => `${method} ${path}`;

const answered = RECORDINGS.flatMap(readRecording).filter(({ status }) => status === 200 || status === 201);

/** The good answers that were recorded for a row. A slash at the end and a query make no difference. */
function answersTo({ method, path }: Row): Line[] {
  const segments = path.replace(/\/$/, "").replaceAll(/\{\w+\}/g, "[^/?]+");
  const pattern = new RegExp(`^/api/v1/${segments}/?(?:\\?.*)?$`);
  return answered.filter((line) => line.method === method && pattern.test(line.path));
}

const jsonRows = rows.filter(({ answer }) => answer.form === "json");
console.log(Object.fromEntries(jsonRows.map((row) => [nameOf(row), answersTo(row).length])));
console.log(Object.fromEntries(rows.filter(r=>r.answer.form!=="json").map((row) => [nameOf(row), answersTo(row).length])));
test("x", () => {
  for (const row of jsonRows) for (const l of answersTo(row)) {
    if (!("json" in l)) console.log("NOJSON", l.case, l.path, l.status);
    const f = row.answer.read(l.json).faults;
    if (f.length) console.log(l.case, l.path, f);
  }
});
