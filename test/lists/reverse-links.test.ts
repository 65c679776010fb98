import { describe, expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { startRows } from "./rows.ts";

const EXPERIMENTS = "GET ada/mnist/experiments";

describe("the runs of a build", () => {
  const rows = [{ id: 3, build_job: "ada.mnist.builds.7" }];

  test("are read from one filtered list per kind, without reading the build", async () => {
    const { ask, calls } = await startRows(rows);
    const { data } = await ask(`{ buildJob(id: "ada.mnist.builds.7") {
      experiments(first: 5) { nodes { internalId buildJob { id } } } jobs { totalCount }
    } }`);
    const id = "QnVpbGRKb2I6YWRhL21uaXN0Lzc";
    expect(data).toEqual({
      buildJob: { experiments: { nodes: [{ internalId: "3", buildJob: { id } }] }, jobs: { totalCount: 1 } },
    });
    expect(calls()).toEqual([`${EXPERIMENTS}?query=build%3A7&limit=5`, "GET ada/mnist/jobs?query=build%3A7"]);
  });

  test("can be filtered and ordered like any list", async () => {
    const { ask, calls } = await startRows(rows);
    await ask(`{ buildJob(id: "ada.mnist.builds.7") { experiments(
      filter: { statuses: [RUNNING] }, query: "tags:a", order: { by: { field: CREATED_AT }, direction: DESC }
    ) { nodes { internalId } } } }`);
    expect(calls()).toEqual([
      `${EXPERIMENTS}?sort=-created_at%2C-updated_at&query=build%3A7%2Cstatus%3Arunning%2Ctags%3Aa`,
    ]);
  });

  test("leave the build null if it does not exist", async () => {
    const { ask, calls } = await startRows([]);
    const { data } = await ask(`{ buildJob(id: "ada.mnist.builds.7") { jobs { totalCount } } }`);
    expect(data).toEqual({ buildJob: null });
    expect(calls()).toEqual(["GET ada/mnist/builds/7/", "GET ada/mnist/jobs?query=build%3A7"]);
  });
});

describe("clones", () => {
  const rows = [
    { id: 9, original: "ada.mnist.3" },
    { id: 8, original: null },
    { id: 7, original: "ada.mnist.5.3" },
    { id: 6, original: "ada.mnist.30" },
    { id: 5, original: "eva.mnist.3" },
    { id: 4, original: "no name" },
    { id: 3, original: "ada.speech.3" },
  ];
  const query = (args = "") => `{ experiment(id: "ada.mnist.3") { clones${args} {
    nodes { internalId } totalCount scan { scannedRows isComplete }
  } } }`;

  test("are found in the same project, even if references include a group", async () => {
    const { ask, calls } = await startRows(rows);
    const { data } = await ask(query());
    const nodes = [{ internalId: "9" }, { internalId: "7" }];
    const scan = { scannedRows: 7, isComplete: true };
    expect(data).toEqual({ experiment: { clones: { nodes, totalCount: 2, scan } } });
    expect(calls()).toEqual([`${EXPERIMENTS}?limit=500`]);
  });

  test("can be filtered by both server-side and gateway-side conditions", async () => {
    const declared = rows.map((row, index) => ({ ...row, declarations: { lr: index } }));
    const { ask, calls } = await startRows(declared);
    const { data } = await ask(
      query(`(filter: { users: ["ada"], parameters: [{ name: "lr", atLeast: 1 }] })`),
    );
    expect(data).toMatchObject({ experiment: { clones: { nodes: [{ internalId: "7" }], totalCount: 1 } } });
    expect(calls()).toEqual([`${EXPERIMENTS}?query=user.username%3Aada&limit=500`]);
  });

  test("refuse an offset, and fail if a row lacks `original`", async () => {
    const { ask } = await startRows([{ id: 9 }]);
    expect(outcomeOf(await ask(query("(offset: 1)"))).errors).toEqual([
      failure(
        "experiment.clones",
        "BAD_USER_INPUT",
        "offset: expected none where the gateway scans the list",
      ),
    ]);
    expect(outcomeOf(await ask(query())).errors).toEqual([
      failure("experiment.clones", "UPSTREAM_BAD_RESPONSE", "A row of the service's list lacks `original`."),
    ]);
  });
});
