import { describe, expect, test } from "vitest";
import { codesOf, failure, outcomeOf } from "../support/errors.ts";
import { globalId } from "../support/ids.ts";
import { startProfile } from "../support/profiles.ts";

const CHARTS = `[{ id: "c", metricNames: ["loss"] }]`;

describe("chart views", () => {
  test.each([
    ["Experiment", "experiment", "experiments", 42],
    ["Group", "group", "groups", 2],
  ])("of an object of the kind %s are created, listed and deleted", async (kind, field, wire, run) => {
    const { ask, calls } = await startProfile();
    const path = `ada/mnist/${wire}/${run}/chartviews`;
    const id = globalId(`ChartView:ada/mnist/${wire}/${run}/2`);
    const listed = async () => {
      const { data } = await ask<Record<string, { chartViews: { nodes: unknown } }>, object>(
        `{ ${field}(id: "ada.mnist.${run}") { chartViews { nodes { id name charts meta run { id } } } } }`,
      );
      expect(calls()).toEqual([`GET ${path}`]);
      return data[field]?.chartViews.nodes;
    };
    const view = {
      id,
      name: "mine",
      charts: [{ id: "c", metricNames: ["loss"] }],
      meta: { smoothing: 0.5 },
      run: { id: globalId(`${kind}:ada/mnist/${run}`) },
    };
    expect(
      await ask(`mutation { create${kind}ChartView(id: "ada.mnist.${run}", input: {
        name: "mine", charts: ${CHARTS}, meta: { smoothing: 0.5 }
      }) { chartView { id name charts meta run { id } } } }`),
    ).toEqual({ data: { [`create${kind}ChartView`]: { chartView: view } } });
    expect(calls()).toEqual([`POST ${path}`]);
    expect(await listed()).toEqual([view]);
    expect(await ask(`mutation { deleteChartView(id: "${id}") { deletedId } }`)).toEqual({
      data: { deleteChartView: { deletedId: id } },
    });
    expect(calls()).toEqual([`DELETE ${path}/2`]);
    expect(await listed()).toEqual([]);
  });

  test.each([
    [globalId("ChartView:ada/mnist/jobs/1/1"), "id: expected the id of a chart view, got one of jobs"],
    [globalId("ChartView:ada/mnist/groups/1/x"), `id: expected an integer such as 42, got "x"`],
    [
      globalId("ChartView:ada/mnist/groups/1"),
      `id: expected the id of a ChartView, got "${globalId("ChartView:ada/mnist/groups/1")}"`,
    ],
  ])("%s is no id of one, and nothing is sent", async (id, message) => {
    const { ask, calls } = await startProfile();
    expect(outcomeOf(await ask(`mutation { deleteChartView(id: "${id}") { deletedId } }`))).toEqual({
      data: { deleteChartView: null },
      errors: [failure("deleteChartView", "BAD_USER_INPUT", message)],
    });
    expect(calls()).toEqual([]);
  });

  test.each(["document", "polyaxon-0.2"] as const)("are not there with %s", async (profile) => {
    const { ask, calls } = await startProfile(profile);
    const answer = await ask(`mutation {
      createExperimentChartView(id: "ada.mnist.42", input: { name: "x", charts: [] }) { __typename }
      createGroupChartView(id: "ada.mnist.1", input: { name: "x", charts: [] }) { __typename }
      deleteChartView(id: "${globalId("ChartView:ada/mnist/groups/1/1")}") { __typename }
    }`);
    expect(codesOf(answer)).toEqual(Array.from({ length: 3 }, () => "CAPABILITY_UNAVAILABLE"));
    expect(calls()).toEqual([]);
  });
});
