import { describe, expect, test } from "vitest";
import { errorsOf } from "../support/errors.ts";
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

const TEXT =
  "expected text without `,`, `|`, `:`, `..`, a sign of comparison or `~` at its start, or space around it";
const DAY = "expected a day from 1970 to 2999, without time of day, such as 2026-03-01";
const NAME =
  "expected a name that the server can filter by: letters, digits, spaces and - _ / @ + # ( ), not `__` or a word of the server such as `range`";

describe("what cannot be said is refused, and nothing is sent", () => {
  test.each([
    ["{statuses: OTHER}", "filter.statuses: expected a status of the service, got OTHER; use `rawStatuses`"],
    ["{statuses: []}", "filter.statuses: expected at least one value, got none"],
    [
      '{declarations: {name: "lr", values: []}}',
      "filter.declarations[0]: expected at least one of `values` or a bound, got none",
    ],
    ['{tags: ["a", "b,c"]}', `filter.tags: ${TEXT}, got "b,c"`],
    ['{names: "a\\u0000b"}', `filter.names: ${TEXT}, got "a\\u0000b"`],
    [
      '{startedAt: {before: "2026-03-01T10:00:00Z"}}',
      `filter.startedAt.before: ${DAY}, got "2026-03-01T10:00:00Z"`,
    ],
    ['{createdAt: {from: "2026-02-29"}}', `filter.createdAt.from: ${DAY}, got "2026-02-29"`],
    ['{createdAt: {from: "0001-01-01"}}', `filter.createdAt.from: ${DAY}, got "0001-01-01"`],
    ['{metrics: [{name: "loss"}, {name: "a.b"}]}', `filter.metrics[1].name: ${NAME}, got "a.b"`],
    ['{declarations: {name: "range", values: "a"}}', `filter.declarations[0].name: ${NAME}, got "range"`],
    [
      '{builds: "ada.speech.builds.7"}',
      "filter.builds: expected a BuildJob of ada.mnist, got one of ada.speech",
    ],
    [
      `{groups: ["ada.mnist.1", "${globalId("Experiment:ada/mnist/1")}"]}`,
      "filter.groups: expected the id of a Group, got the id of an Experiment",
    ],
    [
      `{tags: "${"a".repeat(1_996)}"}`,
      "filter: expected at most 2000 characters in the server's language, got 2001",
    ],
    ['{groups: "7"}', 'filter.groups: expected a global id or a name such as ada.mnist.5, got "7"'],
  ])("%s", async (filter, message) => {
    const { ask, service } = await startRows([]);
    const answer = await ask(listWith("experiments", `filter: ${filter}`));
    expect(answer.data).toEqual({ project: { experiments: null } });
    expect(errorsOf(answer)).toEqual([{ at: "project.experiments", code: "BAD_USER_INPUT", message }]);
    expect(service.calls()).toEqual([]);
  });

  test("a filter of a server whose language the gateway does not write", async () => {
    const { ask, service } = await startRows([], {
      UPSTREAM_PROFILE: profileFile("extends: polyaxon-0.4\nfilters: {language: null}"),
    });
    const answer = await ask(listWith("jobs", "filter: { statuses: RUNNING}"));
    expect(errorsOf(answer)).toMatchObject([
      {
        code: "CAPABILITY_UNAVAILABLE",
        message: expect.stringMatching("does not offer the argument `filter`"),
      },
    ]);
    expect(await ask(listWith("jobs", 'query: "status:running", filter: {}'))).toEqual(NO_RUNS("jobs"));
    expect(service.calls()).toEqual(["GET ada/mnist/jobs?query=status%3Arunning"]);
  });
});
