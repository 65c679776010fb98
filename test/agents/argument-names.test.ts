import { expect, test } from "vitest";
import { RELEASE_04 } from "../support/gateway.ts";
import { startAgent } from "../support/agent.ts";
import { manifest } from "../support/build.ts";

const TOOLS = {
  Plain: "query Plain($run: ID!) { experiment(id: $run) { status } }",
  Deep: `query Deep($place: ID!, $label: String!) {
    a: project(id: $place) { ...Rows }
  }
  fragment Rows on Project { rows: experiments(filter: { words: $label }) { nodes { id } } }`,
  Listed: `query Listed($points: Int!) {
    entities(ids: ["ada.mnist.experiments.1"]) { ... on Experiment { metricSeries(maxPoints: $points) { name } } }
  }`,
  Fixed: `query Fixed { experiment(id: "no name") { status } }`,
};

test.each([
  ["Plain", { run: "no name" }, /^run: expected /],
  ["Deep", { place: "no name", label: "a" }, /^place: expected /],
  ["Deep", { place: "ada.mnist", label: "a".repeat(10_000) }, /^label: /],
  ["Listed", { points: 1 }, /^points: expected /],
  ["Fixed", {}, /^id: expected /],
])("an error of tool %s with %o begins with the argument's name", async (name, input, message) => {
  const { use, calls } = await startAgent({
    env: { ...RELEASE_04, TRUSTED_DOCUMENTS: manifest(TOOLS) },
  });
  const { result, text, isError } = await use(name, input);
  expect(isError).toBe(true);
  expect(result["errors"]).toEqual([
    expect.objectContaining({ message: expect.stringMatching(message) as string }),
  ]);
  expect(JSON.parse(text)).toEqual(result);
  expect(calls()).toEqual([]);
});
