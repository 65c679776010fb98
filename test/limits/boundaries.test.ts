import { expect, test } from "vitest";
import { startBefore } from "../support/gateway.ts";
import { post } from "../support/raw-requests.ts";

/* The greatest (or least) value of a limit is accepted, and the next one is refused before anything is sent. */

const many = (count: number, each: (index: number) => string, separator = " ") =>
  Array.from({ length: count }, (_, index) => each(index)).join(separator);

const experiments = (args: string) =>
  `{ project(id: "ada.mnist") { experiments(${args}) { nodes { id } } } }`;
const ofRun = (fields: string) => `{ experiment(id: "ada.mnist.1") { ${fields} } }`;
const names = (count: number) => many(count, (index) => `"ada.mnist.experiments.${index}"`, ",");

const LIMITS: readonly (readonly [name: string, last: number, next: number, (value: number) => string])[] = [
  ["operations of a document", 100, 101, (n) => many(n, (index) => `query q${index} { __typename }`)],
  [
    "fragments of a document",
    100,
    101,
    (n) => `{ ${many(n, (i) => `...f${i}`)} } ${many(n, (i) => `fragment f${i} on Query { __typename }`)}`,
  ],
  [
    "fields with one response name",
    150,
    151,
    (n) => `{ ${many(n, () => `a: job(id: "ada.mnist.jobs.1") { id }`)} }`,
  ],
  ["characters of search words", 200, 201, (n) => experiments(`filter: { words: "${"w".repeat(n)}" }`)],
  ["characters of a query", 2_000, 2_001, (n) => experiments(`query: "${"q".repeat(n)}"`)],
  ["values of a filter", 2_000, 2_001, (n) => experiments(`filter: { users: [${'"",'.repeat(n)}] }`)],
  [
    "characters of a metric for the axis",
    2_000,
    2_001,
    (n) => ofRun(`metricSeries(x: "${"x".repeat(n)}") { name }`),
  ],
  ["rows of a page", 500, 501, (n) => experiments(`first: ${n}`)],
  ["rows of a page", 1, 0, (n) => experiments(`first: ${n}`)],
  ["an offset", 0, -1, (n) => experiments(`offset: ${n}`)],
  ["last rows", 1, 0, (n) => ofRun(`statuses(last: ${n}) { totalCount }`)],
  ["last rows", 500, 501, (n) => ofRun(`statuses(last: ${n}) { totalCount }`)],
  ["points of a series", 2, 1, (n) => ofRun(`metricSeries(maxPoints: ${n}) { name }`)],
  ["points of a series", 5_000, 5_001, (n) => ofRun(`metricSeries(maxPoints: ${n}) { name }`)],
  ["bytes of a log", 1, 0, (n) => ofRun(`logs(maxBytes: ${n}) { text }`)],
  ["bytes of a log", 1_048_576, 1_048_577, (n) => ofRun(`logs(maxBytes: ${n}) { text }`)],
  ["last lines of a log", 1, 0, (n) => ofRun(`logs(tailLines: ${n}) { text }`)],
  ["last lines of a log", 5_000, 5_001, (n) => ofRun(`logs(tailLines: ${n}) { text }`)],
  ["ids of entities", 100, 101, (n) => `{ entities(ids: [${names(n)}]) { id } }`],
  ["compared runs", 2, 1, (n) => `{ compareExperiments(ids: [${names(n)}]) { experiments { id } } }`],
  ["compared runs", 100, 101, (n) => `{ compareExperiments(ids: [${names(n)}]) { experiments { id } } }`],
  [
    "projects of active runs",
    1,
    0,
    (n) => `{ node(id: "n1") { activeRuns(projects: [${'"ada.mnist",'.repeat(n)}]) { isComplete } } }`,
  ],
  [
    "projects of active runs",
    100,
    101,
    (n) => `{ node(id: "n1") { activeRuns(projects: [${'"ada.mnist",'.repeat(n)}]) { isComplete } } }`,
  ],
  [
    "groups of a filter",
    100,
    101,
    (n) => experiments(`filter: { groups: [${many(n, (i) => `"ada.mnist.groups.${i + 1}"`)}] }`),
  ],
  [
    "experiments of a selection",
    100,
    101,
    (n) =>
      `mutation { createGroup(project: "ada.mnist", input: { experiments: [${names(n)}] }) { group { id } } }`,
  ],
  [
    "characters of a specification",
    16_384,
    16_385,
    (n) =>
      `mutation { createJob(project: "ada.mnist", input: { specificationText: "${"kind: job #".padEnd(n, "x")}" }) { job { id } } }`,
  ],
];

test.each(LIMITS)("%s: %i is accepted and %i is refused", async (_, last, next, documentOf) => {
  const env = {
    UPSTREAM_PROFILE: "polyaxon-0.4",
    MAX_TOKENS: "100000",
    MAX_BODY_BYTES: "1000000",
    MAX_FIELDS: "100000",
  };
  const { url, service } = await startBefore(
    () => ({ json: { id: 1, count: 0, next: null, results: [] } }),
    env,
  );
  const refusalsOf = async (value: number): Promise<unknown[]> => {
    const query = documentOf(value);
    const operationName = query.startsWith("query q0") ? "q0" : undefined;
    const answer = await post(`${url}/graphql`, { query, operationName }, { authorization: "token t0ken" });
    const { errors = [] } = (await answer.json()) as { errors?: { message: string }[] };
    return errors.map(({ message }) => message).filter((message) => /expected .*\d/i.test(message));
  };
  expect(await refusalsOf(last)).toEqual([]);
  const before = service.seen().length;
  expect(await refusalsOf(next)).toEqual([expect.stringMatching(/got -?\d+\b/)]);
  expect(
    service
      .seen()
      .slice(before)
      .filter(({ method }) => method !== "GET"),
  ).toEqual([]);
});
