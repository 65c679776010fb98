/** A costly operation, to be asked alone and many times at once in a process with a small heap. */
export interface WorstOperation {
  readonly name: string;
  /** Whether it is asked with the token of a user; otherwise without one. */
  readonly isSignedIn: boolean;
  readonly query: string;
  readonly variables?: object;
  /** The `accept` header. */
  readonly accept: string;
}

/** So many selections, each with its number in place of `#`. */
const times = (count: number, selection: string): string =>
  Array.from({ length: count }, (_, index) => selection.replaceAll("#", `${index}`)).join(" ");

const accept = "multipart/mixed, application/json";
const older = "multipart/mixed;deferSpec=20220824, application/json";

export const WORST_OPERATIONS: readonly WorstOperation[] = [
  {
    name: "90 deferred fragments on each field of the schema",
    isSignedIn: false,
    query: `{ __schema { types { fields { ${times(90, "... @defer { name }")} } } } }`,
    accept,
  },
  {
    name: "90 deferred fragments on each type of the schema, with all fields",
    isSignedIn: false,
    query: `{ __schema { types { ${times(90, "... @defer { fields { name description } }")} } } }`,
    accept: older,
  },
  {
    name: "700 deferred fragments on each type of the schema",
    isSignedIn: false,
    query: `{ __schema { types { ${times(700, "... @defer { name }")} } } }`,
    accept,
  },
  {
    name: "deferred fragments that spread each other twice",
    isSignedIn: false,
    query:
      `{ __schema { types { ...F0 } } } ${times(10, "fragment F# on __Type { ...G# @defer ...H# @defer } fragment G# on __Type { ...E# @defer } fragment H# on __Type { ...E# @defer } ")}`
        .replaceAll(/\.\.\.E(\d)/g, (_, index: string) =>
          index === "9" ? "... { name }" : `...F${Number(index) + 1}`,
        )
        .replaceAll("... { name } @defer", "... @defer { name }"),
    accept,
  },
  {
    name: "36 deferred fragments on 500 runs with their metrics",
    isSignedIn: true,
    query: `{ project(owner: "ada", name: "mnist") { experiments(first: 500) { nodes {
      ${times(36, "... @defer { lastMetric { name value } id uniqueName status createdAt }")}
    } } } }`,
    accept,
  },
  {
    name: "runs of the project of each run of the project of each run",
    isSignedIn: true,
    query: `{ project(owner: "ada", name: "mnist") { ${times(3, "experiments(first: 500) { nodes { id project {")} id ${times(3, "} } }")} } }`,
    accept: "application/json",
  },
  {
    name: "groups by the thousand tags of a run with thousands of metrics",
    isSignedIn: true,
    query: `{ project(owner: "ada", name: "mnist") { experiments { summary {
      groups(by: ["tag"]) { count metrics { name mean } }
    } } } }`,
    accept: "application/json",
  },
  {
    name: "90 summaries of thousands of metrics",
    isSignedIn: true,
    query: `{ project(owner: "ada", name: "mnist") { ${times(90, 'a#: experiments(query: "status:running") { summary { metrics { name mean median } } }')} } }`,
    accept: "application/json",
  },
  {
    name: "90 summaries of the metrics of a run",
    isSignedIn: true,
    query: `{ experiment(id: "ada.mnist.1") { ${times(90, 'a#: metricSummaries(names: ["m1", "m#"]) { name mean }')} } }`,
    accept: "application/json",
  },
  {
    name: "streamed lists within a streamed list",
    isSignedIn: false,
    query: `{ __schema { types @stream { name fields @stream { name args @stream { name type { name } } } } } }`,
    accept,
  },
];
