import { describe, expect, test } from "vitest";
import { globalId } from "../support/ids.ts";
import { profileFile } from "../support/tracker.ts";
import { inProject, startRows } from "./rows.ts";

const listWith = (list: string, args: string) => inProject(`${list}(${args}) { totalCount }`);

const NO_RUNS = (list: string) => ({ data: { project: { [list]: { totalCount: 0 } } } });

describe("a typed filter is written in the language of the server", () => {
  test.each([
    ["experiments", "{statuses: [FAILED, STOPPED]}", "status:failed|stopped"],
    ["experiments", "{notStatuses: SUCCEEDED}", "status:~succeeded"],
    ["experiments", `{builds: ["${globalId("BuildJob:ada/mnist/7")}", "ada.mnist.builds.9"]}`, "build:7|9"],
    ["experiments", "{statuses: [UNKNOWN, FAILED]}", "status:unknown|failed"],
    ["experiments", '{finishedAt: {before: "2026-04-01"}}', "finished_at:<2026-04-01"],
    [
      "experiments",
      '{metrics: [{name: "loss", atMost: 0.5}, {name: "accuracy", greaterThan: 0.5}]}',
      "metric.loss:<=0.5,metric.accuracy:>0.5",
    ],
    [
      "experiments",
      '{metrics: {name: "train/loss", atLeast: -1e-7, lessThan: 1e21}}',
      "metric.train/loss:>=-1e-7,metric.train/loss:<1e+21",
    ],
    ["experiments", '{metrics: {name: "löss"}}', "metric.löss:>=-1e308"],
    ["jobs", '{statuses: RUNNING, builds: "ada.mnist.builds.2"}', "status:running,build:2"],
    ["buildJobs", '{tags: "fixtures", users: "ada"}', "user.username:ada,tags:fixtures"],
    ["groups", "{statuses: [RUNNING, DONE]}", "status:running|done"],
    ["jobs", "{statuses: null, createdAt: {}}", null],
    ["jobs", "null", null],
    [
      "experiments",
      `{phases: [ACTIVE, FAILED], notStatuses: FAILED, users: ["ada"], notNames: ["x"]}`,
      "name:~x,status:~failed,status:starting|running|warning|retrying|stopping|failed|upstream_failed,user.username:ada",
    ],
    // A day may be written as the time of its midnight.
    [
      "jobs",
      `{createdAt: {from: "2026-03-01T00:00:00.000Z", before: "2026-03-02"}}`,
      "created_at:>=2026-03-01,created_at:<2026-03-02",
    ],
  ])("%s: %s", async (list, filter, written) => {
    const { ask, filters } = await startRows([]);
    expect(await ask(listWith(list, `filter: ${filter}`))).toEqual(NO_RUNS(list));
    expect(filters()).toEqual([written]);
  });

  test("and joined with the argument query, so that both are met", async () => {
    const { ask, filters } = await startRows([]);
    const args = 'filter: { statuses: FAILED}, query: "independent:true, commit:a6a3"';
    expect(await ask(listWith("experiments", args))).toEqual(NO_RUNS("experiments"));
    expect(filters()).toEqual(["status:failed,independent:true, commit:a6a3"]);
  });
});

test("a server whose language the gateway does not write takes a query, and a filter that says nothing", async () => {
  const { ask, service } = await startRows([], {
    UPSTREAM_PROFILE: profileFile("extends: polyaxon-0.4\nfilters: {language: null}"),
  });
  expect(await ask(listWith("jobs", 'query: "status:running", filter: {}'))).toEqual(NO_RUNS("jobs"));
  expect(service.calls()).toEqual(["GET ada/mnist/jobs?query=status%3Arunning"]);
});

test.each(["status:failed&limit=9&offset=1", "name:a b+c%20d", "tags:ü#é?x=1", ""])(
  "the text %j reaches the server as one parameter; an empty one is not sent",
  async (query) => {
    const { ask, service } = await startRows([{ id: 1 }]);
    await ask(listWith("jobs", `first: 3, query: "${query}"`));
    expect([...new URL(service.seen()[0]?.path ?? "", "http://service").searchParams]).toEqual([
      ...(query === "" ? [] : [["query", query]]),
      ["limit", "3"],
    ]);
  },
);
