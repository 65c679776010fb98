import { describe, expect, test } from "vitest";
import { errorsOf, failure } from "../support/errors.ts";
import type { Seen, FakeResponse } from "../support/fake.ts";
import { startBefore } from "../support/gateway.ts";
import { upTo } from "../support/one-read.ts";
import { POLYAXON } from "../support/profiles.ts";
import { subscribe } from "../support/subscriber.ts";
import { profileFile } from "../support/tracker.ts";
import { inProject } from "./rows.ts";
import SELECTIONS from "./selections.json" with { type: "json" };

/*
 * Selections are groups of experiments that a user chose. Release 0.4.4 lists their experiments by the parameter `group`, and lists their
 * metrics like the metrics of a group. The key `group` of its filters finds only experiments that a search has started.
 */

const { groups: GROUPS, experiments: EXPERIMENTS } = SELECTIONS;

const page = (results: readonly object[]): FakeResponse => ({
  json: { count: results.length, next: null, results },
});

function answer({ path }: Seen): FakeResponse | undefined {
  const { pathname, searchParams } = new URL(path, "http://service");
  const query = searchParams.get("query") ?? "";
  const idsIn = (key: string) => new RegExp(`(?:^|,)${key}:([\\d|]+)`).exec(query)?.[1]?.split("|");
  const group = Number(searchParams.get("group"));
  if (pathname.endsWith("/groups"))
    return page(GROUPS.filter(({ id }) => idsIn("id")?.includes(`${id}`) ?? true));
  if (pathname.endsWith("/experiments")) {
    const of = idsIn("group");
    return page(
      EXPERIMENTS.filter(
        ({ groups, experiment_group: started }) =>
          (group === 0 || groups.includes(group)) &&
          (of?.some((id) => started === `ada.mnist.${id}`) ?? true),
      ),
    );
  }
  const [, one] = /groups\/(\d+)\/$/.exec(pathname) ?? [];
  const record = GROUPS.find(({ id }) => `${id}` === one);
  if (record) return { json: record };
  const [, measured] = /groups\/(\d+)\/metrics$/.exec(pathname) ?? [];
  if (!measured) return undefined;
  const members = EXPERIMENTS.filter(({ groups }) => groups.includes(Number(measured)));
  return page(members.map(({ id }) => ({ id, experiment: id, values: { loss: id / 100 } })));
}

const startSelections = (UPSTREAM_PROFILE = "polyaxon-0.4") => startBefore(answer, { UPSTREAM_PROFILE });

const filtered = (filter: string) => inProject(`experiments(filter: ${filter}) { nodes { internalId } }`);

const found = (...ids: string[]) => ({
  data: { project: { experiments: { nodes: ids.map((internalId) => ({ internalId })) } } },
});

describe("a filter by a group", () => {
  test.each(POLYAXON)(
    "uses the server's `group` parameter, which supports selections, with %s",
    async (profile) => {
      const { ask, service } = await startSelections(profile);
      expect(await ask(filtered('{groups: "ada.mnist.4"}'))).toEqual(found("10", "20", "30"));
      await ask(filtered('{groups: "ada.mnist.4", statuses: FAILED}'));
      expect(service.calls()).toEqual([
        "GET ada/mnist/experiments?group=4",
        "GET ada/mnist/experiments?group=4&query=status%3Afailed",
      ]);
    },
  );

  test("is sent in `query` for several groups if none is a selection", async () => {
    const { ask, service } = await startSelections();
    const filter = '{groups: ["ada.mnist.1", "ada.mnist.2"]}';
    expect(await ask(filtered(filter))).toEqual(found("10", "11", "20"));
    expect(service.calls()).toEqual([
      "GET ada/mnist/experiments?query=group%3A1%7C2",
      "GET ada/mnist/groups?query=id%3A1%7C2&limit=100",
    ]);
  });

  test("is sent without a check if the server has no selections", async () => {
    const { ask, service } = await startSelections("polyaxon-0.2");
    expect(await ask(filtered('{groups: ["ada.mnist.1", "ada.mnist.2"]}'))).toEqual(found("10", "11", "20"));
    expect(service.calls()).toEqual(["GET ada/mnist/experiments?query=group%3A1%7C2"]);
  });

  test("reads each group once, and at most a hundred groups", async () => {
    const { ask, service } = await startSelections();
    const groups = (ids: readonly number[]) =>
      `{groups: [${ids.map((id) => `"ada.mnist.${id}"`).join(" ")}]}`;
    await ask(filtered(groups(Array.from({ length: 400 }, (_, index) => 1 + (index % 2)))));
    expect(service.calls()).toContain("GET ada/mnist/groups?query=id%3A1%7C2&limit=100");
    const sent = service.calls().length;
    expect(errorsOf(await ask(filtered(groups(upTo(101)))))).toEqual([
      failure(
        "project.experiments",
        "BAD_USER_INPUT",
        "filter.groups: expected at most 100 different groups, got 101",
      ),
    ]);
    expect(service.calls()).toHaveLength(sent);
  });

  test("is refused in subscriptions if one of several groups is a selection", async () => {
    const { url } = await startSelections();
    const { next } = await subscribe(url, {
      query: `subscription { runsUpdated(of: "ada.mnist", filter: {groups: ["ada.mnist.1", "ada.mnist.4"]}) { run { id } } }`,
    });
    const { errors } = (await next()) ?? {};
    expect(errors?.map(({ message }) => message)).toEqual([
      "filter.groups: expected no other Group together with a selection, got ada.mnist.4 with others",
    ]);
  });

  test.each([
    ["one of several groups", "project.experiments", filtered('{groups: ["ada.mnist.1", "ada.mnist.4"]}')],
    ["left out", "project.experiments", filtered('{notGroups: ["ada.mnist.4"]}'), "filter.notGroups"],
    [
      "in the list of another group",
      "group.experiments",
      '{ group(id: "ada.mnist.1") { experiments(filter: {groups: "ada.mnist.4"}) { totalCount } } }',
    ],
  ])("is refused if a selection is %s", async (_, at, query, argument = "filter.groups") => {
    const { ask } = await startSelections();
    expect(errorsOf(await ask(query))).toEqual([
      failure(
        at,
        "BAD_USER_INPUT",
        `${argument}: expected no other Group together with a selection, got ada.mnist.4 with others`,
      ),
    ]);
  });

  test("can exclude groups, as a filter by a build can exclude builds", async () => {
    const { ask, service } = await startSelections();
    await ask(filtered('{notGroups: ["ada.mnist.1"]}'));
    await ask(filtered('{builds: ["ada.mnist.builds.1"], notBuilds: ["ada.mnist.builds.2"]}'));
    expect(service.calls()).toEqual([
      "GET ada/mnist/experiments?query=build%3A1%2Cbuild%3A%7E2",
      "GET ada/mnist/experiments?query=group%3A%7E1",
      "GET ada/mnist/groups/1/",
    ]);
  });

  test("is sent in `query` if the server has no parameter for groups", async () => {
    const { ask, service } = await startSelections(
      profileFile("extends: polyaxon-0.2\nfilters: {group: null}", "no-parameter.yaml"),
    );
    expect(await ask(filtered('{groups: "ada.mnist.1"}'))).toEqual(found("10", "11"));
    expect(service.calls()).toEqual(["GET ada/mnist/experiments?query=group%3A1"]);
  });
});

test("reads the metrics of a selection's experiments with one request", async () => {
  const { ask, service } = await startSelections();
  const node = (internalId: string, value: number) => ({ internalId, metricSeries: [{ values: [value] }] });
  expect(
    await ask(
      '{ group(id: "ada.mnist.4") { experiments { nodes { internalId metricSeries { values } } } } }',
    ),
  ).toEqual({
    data: { group: { experiments: { nodes: [node("10", 0.1), node("20", 0.2), node("30", 0.3)] } } },
  });
  expect(service.calls()).toEqual(["GET ada/mnist/experiments?group=4", "GET ada/mnist/groups/4/metrics"]);
});
