import { describe, expect, test } from "vitest";
import { UNKNOWN_LIST } from "./builds.ts";
import { startTwo } from "../support/demo-gateway.ts";
import { pathIn, type FakeResponse } from "../support/fake.ts";
import { RELEASE_02, RELEASE_04, startBefore } from "../support/gateway.ts";
import { listIn } from "../support/listed.ts";
import FORMS from "./metrics-forms.json" with { type: "json" };

describe("metrics of a group's experiments", () => {
  /** Starts a gateway that may batch, and a gateway that may not. */
  const startBoth = () => startTwo({ env: RELEASE_04 }, { env: RELEASE_02 });

  test.each(FORMS)("take one request: %s", async (_, fields) => {
    const ask = await startBoth();
    const document = `{ group(id: "ada.mnist.1") { experiments(first: 24) { nodes { uniqueName ${fields} } } } }`;
    const { answer, calls, expected, expectedCalls } = await ask(document);
    expect(calls).toEqual(["GET ada/mnist/experiments?group=1&limit=24", "GET ada/mnist/groups/1/metrics"]);
    expect(answer.errors).toBeUndefined();
    expect(answer).toEqual(expected);
    expect(expectedCalls.length).toBeGreaterThanOrEqual(25);
  });

  test("that follow a cursor of the group's page are read individually", async () => {
    const ask = await startBoth();
    const page = `query ($after: String, $of: String!) { group(id: "ada.mnist.1") { experiments(query: $of) { nodes {
      internalId metrics(first: 3, after: $after) { nodes { internalId } pageInfo { endCursor hasNextPage } }
    } } } }`;
    const { answer: first, expected } = await ask(page, { of: "id:9|10" });
    expect(first).toEqual(expected);
    // A cursor belongs to the list of one experiment.
    const [of = {}] = listIn(first, "group.experiments").nodes;
    const { endCursor: after } = listIn({ data: of }, "metrics").pageInfo;
    const further = { of: `id:${of["internalId"]}`, after };
    const second = await ask(page, further);
    expect(second.calls).toEqual([
      `GET ada/mnist/experiments/${of["internalId"]}/metrics?limit=3&offset=3`,
      `GET ada/mnist/experiments?group=1&query=id%3A${of["internalId"]}`,
    ]);
    expect(second.answer).toEqual(second.expected);
  });

  test("take one request per group, and individual requests outside groups", async () => {
    const ask = await startBoth();
    const document = `{ project(id: "ada.mnist") {
      experiments(query: "id:1|9|10|42|47|48") { nodes { uniqueName metrics(first: 1) { totalCount } } }
    } }`;
    const { answer, calls, expected } = await ask(document);
    expect(calls).toEqual([
      "GET ada/mnist/experiments/1/metrics?limit=1",
      "GET ada/mnist/experiments/42/metrics?limit=1",
      "GET ada/mnist/experiments?query=id%3A1%7C9%7C10%7C42%7C47%7C48",
      "GET ada/mnist/groups/1/metrics",
      "GET ada/mnist/groups/2/metrics",
    ]);
    expect(answer).toEqual(expected);
  });

  /** A service with the experiments 1 and 2 in group 5, which sends the given response for the list of the group's metrics. */
  async function startGroup(reported: FakeResponse, env: Record<string, string> = {}) {
    const recorded = (id: number, experiment: number) => ({ id, experiment, values: { loss: id } });
    const { service, ...gateway } = await startBefore(
      ({ path }) => {
        if (path.endsWith("/groups/5/metrics")) return reported;
        const experiment = Number(/experiments\/(\d)\/metrics/.exec(path)?.[1] ?? 0);
        const results = experiment
          ? [recorded(experiment, experiment), recorded(10 + experiment, experiment)]
          : [1, 2].map((id) => ({ id, experiment_group: "ada.mnist.5" }));
        return { json: { count: 2, next: null, previous: null, results } };
      },
      { ...RELEASE_04, ...env },
    );
    return {
      ...gateway,
      calls: () =>
        service
          .seen()
          .splice(0)
          .map(({ path }) => pathIn(path).replace("ada/mnist/", ""))
          .toSorted(),
    };
  }
  const series = `{ group(id: "ada.mnist.5") { experiments { nodes { metricSeries { totalPoints values } } } } }`;
  const wholeSeries = {
    group: {
      experiments: {
        nodes: [
          { metricSeries: [{ totalPoints: 2, values: [1, 11] }] },
          { metricSeries: [{ totalPoints: 2, values: [2, 12] }] },
        ],
      },
    },
  };

  test("are read individually if the group's metrics list is missing or incomplete", async () => {
    const { ask, calls } = await startGroup(UNKNOWN_LIST);
    await ask(series);
    calls();
    expect(await ask(series)).toEqual({ data: wholeSeries });
    expect(calls()).toEqual(["experiments/1/metrics", "experiments/2/metrics", "experiments?group=5"]);
    const cut = { count: 4, next: null, results: [{ id: 1, experiment: 1, values: { loss: 1 } }] };
    const ofNobody = { id: 1, values: { loss: 1 } };
    const withoutExperiment = [[ofNobody], [...cut.results, ofNobody]].map((results) => ({
      count: results.length,
      next: null,
      results,
    }));
    for (const json of [cut, { ...cut, count: null, next: "http://service/?page=2" }, ...withoutExperiment])
      expect(await (await startGroup({ json })).ask(series)).toEqual({ data: wholeSeries });
  });

  test("are read individually after the group's response was too large", async () => {
    const results = Array.from({ length: 200 }, (_, id) => ({ id, experiment: 1, values: { loss: id } }));
    const { ask, calls } = await startGroup(
      { json: { count: 200, next: null, results } },
      { MAX_JSON_BYTES: "5000" },
    );
    const single = ["experiments/1/metrics", "experiments/2/metrics", "experiments?group=5"];
    expect(await ask(series)).toEqual({ data: wholeSeries });
    expect(calls()).toEqual([...single, "groups/5/metrics"]);
    expect(await ask(series)).toEqual({ data: wholeSeries });
    expect(calls()).toEqual(single);
  });
});
