import { describe, expect, test } from "vitest";
import { globalId } from "../support/ids.ts";
import { GROUP, PROJECT, query, readable, row, startExports } from "../support/exported.ts";
import { pageOf } from "../support/fake.ts";
import CELLS from "./cells.json" with { type: "json" };
import COLUMNS from "./columns.json" with { type: "json" };
import LISTS from "./lists.json" with { type: "json" };
import WHOLE from "./whole-row.json" with { type: "json" };

const SORT = "sort=created_at%2C-updated_at";
const LIST = "GET ada/mnist/experiments";
const PAGES = ["", "&offset=2", "&offset=4"].map((offset) => `${LIST}?${SORT}&limit=2${offset}`);

/** The lines of a file, without their line ends. */
const lines = (text: string): string[] => {
  expect(text.endsWith("\r\n")).toBe(true);
  return text.slice(0, -2).split("\r\n");
};

describe("runs as CSV", () => {
  test("have the requested columns: run fields, parameters and latest metrics", async () => {
    const { get, calls } = await startExports([
      row(1, { last_status: "succeeded", declarations: { lr: 0.1 }, last_metric: { loss: 0.25 } }),
      row(2, { last_status: "created", declarations: { lr: 1e-7, act: "relu" }, last_metric: {} }),
    ]);
    const response = await get(`${PROJECT}/runs.csv?columns=uniqueName,status,parameter.lr,metric.loss`);
    expect(await response.text()).toBe(
      "uniqueName,status,parameter.lr,metric.loss\r\nada.mnist.1,SUCCEEDED,0.1,0.25\r\nada.mnist.2,CREATED,1e-7,\r\n",
    );
    expect(calls()).toEqual([`${LIST}?${SORT}&limit=500`]);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": 'attachment; filename="ada.mnist.runs.csv"',
      "cache-control": "private, no-store",
      "x-content-type-options": "nosniff",
      "x-request-id": "request-1",
      "x-total-count": "2",
    });
  });

  test("have all columns of the server's list if no column is named", async () => {
    const { get, calls } = await startExports([
      row(1, { ...WHOLE, declarations: { lr: 0.1, b: 1 }, last_metric: { loss: 0.25 } }),
      row(2, { ...WHOLE, finished_at: null, declarations: { a: [64, 32] }, last_metric: null }),
    ]);
    expect(lines(await (await get(`${PROJECT}/runs.csv`)).text())).toEqual([
      "id,uniqueName,name,description,user,status,tags,experimentGroup,buildJob,original,createdAt,updatedAt,startedAt,finishedAt,durationSeconds,parameter.a,parameter.b,parameter.lr,metric.loss",
      `${globalId("Experiment:ada/mnist/1")},ada.mnist.1,first,"A, or B",ada,SUCCEEDED,"[""a""]",ada.mnist.5,,,2026-01-01T00:00:00Z,2026-01-01T00:02:00Z,2026-01-01T00:00:10Z,2026-01-01T00:01:10.5Z,60.5,,1,0.1,0.25`,
      `${globalId("Experiment:ada/mnist/2")},ada.mnist.2,first,"A, or B",ada,SUCCEEDED,"[""a""]",ada.mnist.5,,,2026-01-02T00:00:00Z,2026-01-01T00:02:00Z,2026-01-01T00:00:10Z,,,"[64,32]",,,`,
    ]);
    expect(calls()).toEqual([`${LIST}?${SORT}&limit=500`]);
  });

  test("are read page by page, with later parameters in the last column", async () => {
    const rows = [1, 2, 3, 4, 5].map((id) =>
      row(id, { declarations: { [id < 3 ? "lr" : "depth"]: id }, unknown: "x".repeat(20_000) }),
    );
    const { get, inOrder } = await startExports(rows, { MAX_PAGE_SIZE: "2", MAX_UPSTREAM_BYTES: "90000" });
    const response = await get(`${PROJECT}/runs.csv`);
    const [head = "", ...body] = lines(await response.text());
    expect(response.headers.get("x-total-count")).toBe("5");
    expect(head.split(",").slice(-2)).toEqual(["parameter.lr", "others"]);
    expect(body.map((line) => line.split(",")[1])).toEqual(rows.map(({ unique_name }) => unique_name));
    const others = [3, 4, 5].map((depth) => `,"{""parameter.depth"":${depth}}"`);
    expect(body.map((line) => /,(\d*,(?:"[^]*")?)$/.exec(line)?.[1])).toEqual(["1,", "2,", ...others]);
    expect(inOrder()).toEqual(PAGES);
  });

  test.each([
    ["", ""],
    ["&bom=0", ""],
    ["&bom=1", "\uFEFF"],
  ])("with %j begin with the byte order mark %j", async (parameter, mark) => {
    const { get } = await startExports([row(1, { description: "ä" })]);
    const response = await get(`${PROJECT}/runs.csv?columns=description${parameter}`);
    // `text()` would remove the byte order mark.
    const text = Buffer.from(await response.arrayBuffer()).toString();
    expect(text).toBe(`${mark}description\r\nä\r\n`);
  });

  test("of a missing group return 404", async () => {
    const { get, inOrder } = await startExports((seen) =>
      seen.path.includes("/experiments") ? pageOf([], seen) : undefined,
    );
    expect((await get(`${GROUP}/runs.csv`)).status).toBe(404);
    expect(inOrder()).toEqual([`${LIST}?group=5&${SORT}&limit=500`, "GET ada/mnist/groups/5/"]);
  });

  test.each(LISTS)("can have $case, as in GraphQL", async ({ parameters, asked }) => {
    const { get, calls } = await startExports([row(1)]);
    const response = await get(`${PROJECT}/runs.csv${query({ ...parameters, columns: "uniqueName" })}`);
    expect(await response.text()).toBe("uniqueName\r\nada.mnist.1\r\n");
    expect(calls()).toEqual([`${LIST}?${asked}&limit=500`]);
  });

  test("are scanned without a total count if the server cannot compare parameters", async () => {
    const rows = [1, 2, 3, 4, 5].map((id) => row(id, { declarations: { lr: id } }));
    const { get, inOrder } = await startExports(rows, { MAX_PAGE_SIZE: "2", MAX_SCANNED_ROWS: "2" });
    const filter = { parameters: [{ name: "lr", atLeast: 3 }] };
    const response = await get(`${PROJECT}/runs.csv${query({ filter, columns: "uniqueName" })}`);
    expect(await response.text()).toBe("uniqueName\r\nada.mnist.3\r\nada.mnist.4\r\nada.mnist.5\r\n");
    expect(response.headers.has("x-total-count")).toBe(false);
    expect(inOrder()).toEqual(PAGES);
  });

  test("have no executable spreadsheet cells, and keep numbers unchanged", async () => {
    const declarations = Object.fromEntries(CELLS.map(({ name, value }) => [name, value]));
    const { get } = await startExports([row(1, { declarations })]);
    const columns = CELLS.map(({ name }) => `parameter.${name}`).join();
    const text = await (await get(`${PROJECT}/runs.csv${query({ columns })}`)).text();
    expect(text).toBe(`${columns}\r\n${CELLS.map(({ cell }) => cell).join()}\r\n`);
  });

  test.each(COLUMNS)("$case", async ({ declarations, columns, text }) => {
    const { get } = await startExports(
      declarations.map((each, index) => row(index + 1, { declarations: each })),
    );
    expect(await (await get(`${PROJECT}/runs.csv${query({ columns })}`)).text()).toBe(text);
  });

  test("have named columns that lists omit, with one request per run", async () => {
    const content = "run:\n  cmd: [unclosed";
    const { get, calls } = await startExports((seen) =>
      readable([row(1)], seen, { readme: "# One", content, num_jobs: 2, resources: { cpu: null } }),
    );
    const named = "readme,config,jobCount,resources,framework";
    expect(await (await get(`${PROJECT}/runs.csv?columns=${named}`)).text()).toBe(
      `${named}\r\n# One,"${content}",2,"{""cpu"":null}",\r\n`,
    );
    expect(calls()).toEqual(["GET ada/mnist/experiments/1/", `${LIST}?${SORT}&limit=500`]);
    expect(await (await get(`${PROJECT}/runs.csv`)).text()).not.toContain("# One");
    expect(calls()).toHaveLength(3);
  });

  test.each([
    [250, "200"],
    [3, "1"],
  ])("have columns that lists omit, for %i runs with request limit %s", async (count, limit) => {
    const rows = Array.from({ length: count }, (_, index) => row(index + 1, { created_at: null }));
    const { get } = await startExports((seen) => readable(rows, seen, { name: "base" }), {
      MAX_UPSTREAM_REQUESTS: limit,
    });
    const text = await (await get(`${PROJECT}/runs.csv?columns=uniqueName,name`)).text();
    expect(lines(text).slice(1)).toEqual(rows.map(({ id }) => `ada.mnist.${id},base`));
  });
});
