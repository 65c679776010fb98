/** An operation that is sent to all contestants. Its requests cycle through the variables. */
export interface Operation {
  readonly name: string;
  readonly query: string;
  readonly variables: readonly object[];
  /** Whether each request has a new operation name, so that no cache has its document. */
  readonly isUnseen: boolean;
}

const IDS = Array.from({ length: 60 }, (_, index) => `root.quick-start.${index + 1}`);

const EACH_ID = IDS.map((id) => ({ id }));
const WIDE = IDS.slice(0, 50)
  .map((id, index) => `e${index + 1}: experiment(id: "${id}") { ...Row }`)
  .join("\n");

const ROW = `fragment Row on Experiment {
  internalId uniqueName status
  buildJob { internalId uniqueName status commit }
  experimentGroup { internalId uniqueName searchAlgorithm experimentCounts { total } }
}`;

const LONG_ROW = `fragment Row on Experiment {
  internalId uuid name uniqueName user { username } description createdAt updatedAt startedAt finishedAt status
  project { uniqueName } jobCount isBookmarked latestMetrics { name value } config { raw }
  buildJob {
    internalId uuid name uniqueName user { username } description createdAt updatedAt startedAt finishedAt status
    project { uniqueName } config { raw } nodeScheduled { name } jobCount experimentCount dockerfile commit isBookmarked
  }
  experimentGroup {
    internalId uuid name uniqueName user { username } description createdAt updatedAt startedAt finishedAt status
    project { uniqueName } concurrency searchAlgorithm currentIteration content hptuning { raw }
    experimentCounts { total succeeded } isBookmarked
  }
}`;

const RECORD = `query Q1($id: ID!) {
  experiment(id: $id) {
    internalId uuid name uniqueName user { username } description createdAt updatedAt status project { uniqueName }
  }
}`;

const PAGE_TEXT = `query Q2($id: ID!) {
  experiment(id: $id) {
    internalId name uniqueName status latestMetrics { name value }
    buildJob { internalId uniqueName dockerfile commit status }
    experimentGroup {
      internalId uniqueName searchAlgorithm concurrency experimentCounts { total } hptuning { raw }
    }
    statuses { nodes { internalId status message createdAt } }
    metrics { nodes { internalId createdAt values { name value } } }
    jobs { nodes { internalId uniqueName role status nodeScheduled { name memory cpu gpuCount } } }
  }
}`;

export const operation = (
  name: string,
  query: string,
  variables: readonly object[] = [{}],
  isUnseen = false,
): Operation => ({
  name,
  query,
  variables,
  isUnseen,
});

/** One run with everything that its page shows. */
export const PAGE = operation("Q2", PAGE_TEXT, EACH_ID);

export const OPERATIONS: readonly Operation[] = [
  operation("Q0", "query Q0 { __typename }"),
  operation("Q1", RECORD, EACH_ID),
  PAGE,
  operation("Q3", `query Q3 { ${WIDE} } ${ROW}`),
  operation("Q4", `query Q4 { ${WIDE} } ${LONG_ROW}`),
  operation("Q3u", `query Q3 { ${WIDE} } ${ROW}`, [{}], true),
];

const inProject = (fields: string) => `{ project(id: "root.quick-start") { ${fields} } }`;

/** A table of runs, as the page of a project shows it. */
export const TABLE = operation(
  "Q5",
  `query Q5 ${inProject(`experiments(first: 50) { nodes {
    internalId uniqueName status startedAt finishedAt latestMetrics { name value }
    buildJob { internalId uniqueName status }
    experimentGroup { internalId uniqueName searchAlgorithm }
    jobs(first: 1) { nodes { internalId uniqueName role status } }
  } }`)}`,
);

/** A hundred runs of ten builds. Tailcall's benchmark has the same shape: 100 posts by ten users. */
export const POSTS = operation(
  "Q6",
  `query Q6 ${inProject(`experiments(first: 100) { nodes {
    internalId uniqueName status description
    buildJob { internalId uniqueName status user { username } }
  } }`)}`,
);

let unseen = 0;

/** Builds the body of a request. `query` differs from the operation's query if the contestant cannot express all of it. */
export function bodyOf({ name, variables, isUnseen }: Operation, query: string, index: number): string {
  const operationName = isUnseen ? `Q3_${++unseen}` : name;
  return JSON.stringify({
    operationName,
    query: isUnseen ? query.replace("query Q3 ", `query ${operationName} `) : query,
    variables: variables[index % variables.length],
  });
}
