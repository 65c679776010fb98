import { indexes, namesIn, type Shape, tagsIn, valuesIn } from "./shapes.ts";

/* Operations that traverse a record, and a service whose records have a given shape. */

const AT = { created_at: "2026-01-01T00:00:00Z", started_at: "2026-01-01T00:00:00Z", last_status: "running" };

const experiment = (shape: Shape, row: number) => ({
  id: row + 1,
  unique_name: `ada.mnist.${row + 1}`,
  user: "ada",
  ...AT,
  declarations: valuesIn(shape, row),
  last_metric: valuesIn(shape, row),
  tags: tagsIn(shape, row),
});

const page = (results: readonly unknown[]) => ({ count: results.length, next: null, results });

type Answer = (shape: Shape, id: number) => unknown;

/** The responses of the service, by a pattern of the path. The first pattern that matches wins. */
const ANSWERS: readonly (readonly [path: RegExp, answer: Answer])[] = [
  [
    /\/metrics\b/,
    (shape) => page(indexes(shape.rows).map((id) => ({ id, ...AT, values: valuesIn(shape, id) }))),
  ],
  [
    /\/statuses\b/,
    (shape) => page(indexes(shape.rows).map((id) => ({ id, ...AT, details: valuesIn(shape, id) }))),
  ],
  [/\/outputs\b/, (shape) => ({ dirs: tagsIn(shape, 0), files: tagsIn(shape, 0).map((name) => [name, 1]) })],
  [
    /\/experiments\/(\d+)\/$/,
    (shape, id) => ({
      ...experiment({ ...shape, rows: 1 }, id - 1),
      config: { build: valuesIn(shape, id) },
      resources: valuesIn(shape, id),
    }),
  ],
  [
    /\/groups\/(\d+)\/$/,
    (shape, id) => ({
      id,
      hptuning: { matrix: valuesIn(shape, id), random_search: valuesIn({ ...shape, rows: 1 }, id) },
    }),
  ],
  [/\/experiments\b/, (shape) => page(indexes(shape.rows).map((row) => experiment(shape, row)))],
];

/** Maximum size of a response in bytes: below `MAX_JSON_BYTES`, above which the gateway rejects responses. */
const MAX_BYTES = 9_000_000;

/** Returns the response to a path, with fewer values if it would be too large. Returns null for an unknown path. */
export function answerOf(shape: Shape, path: string): string | null {
  for (const [pattern, answer] of ANSWERS) {
    const [found, id] = pattern.exec(path) ?? [];
    if (found === undefined) continue;
    for (let fitting = shape; ; fitting = { ...fitting, values: Math.ceil(fitting.values / 2) }) {
      const text = JSON.stringify(answer(fitting, Number(id)));
      if (Buffer.byteLength(text) < MAX_BYTES) return text;
    }
  }
  return null;
}

/** A request: a GraphQL operation, or the path of an export. */
export type Sent = { readonly query: string; readonly variables: object } | { readonly path: string };

/** Selects a field once for each alias. */
const times = ({ aliases }: Shape, field: string) =>
  indexes(aliases)
    .map((index) => `a${index}: ${field}`)
    .join(" ");

const IDS = { Experiment: "ada.mnist.experiments.42", Group: "ada.mnist.groups.1", Project: "ada.mnist" };

const querying =
  (type: keyof typeof IDS, selectionOf: (shape: Shape) => string) =>
  (shape: Shape): Sent => {
    const selection = selectionOf(shape);
    const names = namesIn(shape);
    const variables = { $names: names, $name: names.at(-1) ?? "none" };
    const used = Object.entries(variables).filter(([name]) => new RegExp(`\\${name}\\b`).test(selection));
    const declared = used.map(([name]) => `${name}: ${name === "$names" ? "[String!]!" : "String!"}`).join();
    return {
      query: `query ${declared && `(${declared})`} { entity(id: "${IDS[type]}") { ... on ${type} { ${selection} } } }`,
      variables: Object.fromEntries(used.map(([name, value]) => [name.slice(1), value])),
    };
  };

const ofExperiment = (field: string) => querying("Experiment", (shape) => times(shape, field));
const ofGroup = (field: string) => querying("Group", (shape) => `hptuning { ${times(shape, field)} }`);
const ofList = (field: string) => querying("Project", () => `experiments(first: 500) { ${field} }`);
const ofRows = (field: string) =>
  querying("Project", (shape) => `experiments(first: 500) { nodes { ${times(shape, field)} } }`);
const ofStatistics = (field: string) =>
  querying("Project", (shape) => `experiments { summary { ${times(shape, field)} } }`);
const filtered = (filter: string) =>
  querying("Project", () => `experiments(first: 500, filter: { ${filter} }) { totalCount }`);
const exported = (path: string) => (): Sent => ({ path: `/export/ada.mnist/${path}` });

export const WALKS: Readonly<Record<string, (shape: Shape) => Sent>> = {
  "Experiment.status": ofExperiment("status"),
  "Experiment.parameters": ofExperiment("parameters { name value }"),
  "Experiment.parameters(names)": ofExperiment("parameters(names: $names) { name }"),
  "Experiment.parameter": ofExperiment("parameter(name: $name) { value }"),
  "Experiment.latestMetrics": ofExperiment("latestMetrics { name }"),
  "Experiment.latestMetrics(names)": ofExperiment("latestMetrics(names: $names) { name raw }"),
  "Experiment.latestMetric": ofExperiment("latestMetric(name: $name) { value }"),
  "Experiment.tags": ofExperiment("tags"),
  "Experiment.resources": ofExperiment("resources { raw }"),
  "Experiment.config": ofExperiment("config { build { image } }"),
  "Experiment.statuses": ofExperiment("statuses { nodes { details } }"),
  "Experiment.metrics": ofExperiment("metrics { nodes { values { name } } }"),
  "Experiment.metrics(names)": ofExperiment("metrics { nodes { values(names: $names) { name } } }"),
  "Experiment.metricSeries": ofExperiment("metricSeries(names: $names) { name }"),
  "Experiment.metricSummaries": ofExperiment("metricSummaries { name }"),
  "Experiment.outputFiles": ofExperiment("outputFiles { files { name } }"),
  "HyperparameterTuning.matrix": ofGroup("matrix { name definition { __typename } }"),
  "HyperparameterTuning.randomSearch": ofGroup("randomSearch { experimentCount }"),
  "a list": ofList("nodes { id }"),
  "rows with names": ofRows("latestMetrics(names: $names) { name }"),
  "rows with parameters": ofRows("parameters { name }"),
  "ExperimentSummary.parameters": ofStatistics("parameters { name }"),
  "ExperimentSummary.metrics": ofStatistics("metrics(names: $names) { name }"),
  "ExperimentSummary.breakdown": ofStatistics(
    `breakdown(by: [{ property: TAG }, { parameter: "k0" }, { parameter: "p1" }], metrics: $names) { count metrics { name } }`,
  ),
  "ExperimentSummary.importance": ofStatistics("importance(metric: $name) { name }"),
  "ExperimentSummary.best": ofStatistics("best(metric: $name, direction: ASC) { id }"),
  "a filter by words": filtered(
    `words: "${indexes(66)
      .map((index) => `${index.toString(36)}z`)
      .join(" ")}"`,
  ),
  "a filter by tags": filtered("allTags: $names"),
  "a filter by parameters": filtered("parameters: [{ name: $name, values: $names }]"),
  "a filter by metrics": filtered("metrics: [{ name: $name, lessThan: 1 }]"),
  compareExperiments: (shape) => ({
    query: `query ($ids: [ID!]!) { compareExperiments(ids: $ids, onlyDifferences: ${shape.areKnown}) { parameters { differs } origin { differs } metrics { name } } }`,
    variables: { ids: indexes(Math.max(2, Math.min(60, shape.rows))).map((id) => `ada.mnist.${id + 1}`) },
  }),
  "runs.csv": exported("runs.csv"),
  "runs.ndjson": exported("runs.ndjson"),
  "columns of runs.csv": (shape) => ({
    path: `/export/ada.mnist/runs.csv?${new URLSearchParams({
      columns: JSON.stringify(
        [...new Set(namesIn(shape).map((name) => `parameter.${name}`))].slice(0, 500),
      ).slice(0, 12_000),
    })}`,
  }),
  "metrics.csv": exported("metrics.csv?columns=metric,value,parameter.k0"),
};
