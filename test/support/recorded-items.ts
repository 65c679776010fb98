/*
 * Rows of recorded lists: what is selected of an item, and what that gives.
 */

export type Row = Readonly<Record<string, unknown>>;

interface Item {
  readonly fields: string;
  readonly node: (row: Row) => Row;
}

const RUN = `internalId uuid uniqueName name description rawStatus createdAt updatedAt startedAt finishedAt tags isBookmarked
  user { username }`;

const run = (row: Row): Row => ({
  internalId: `${row["id"]}`,
  uuid: row["uuid"],
  uniqueName: row["unique_name"],
  name: row["name"],
  description: row["description"],
  rawStatus: row["last_status"],
  createdAt: row["created_at"],
  updatedAt: row["updated_at"],
  startedAt: row["started_at"],
  finishedAt: row["finished_at"],
  tags: row["tags"],
  isBookmarked: row["bookmarked"],
  user: { username: row["user"] },
});

const named = (name: unknown) => (name === null ? null : { uniqueName: name });

/** Parameters, as the gateway orders them. */
export const declared = (recorded: object) =>
  Object.entries(recorded)
    .map(([name, value]) => ({ name, value: value as unknown }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** Named values, as the gateway orders them. */
export const values = (recorded: object) =>
  Object.entries(recorded)
    .map(([name, raw]) => ({ name, raw }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

export const ITEMS = {
  projects: {
    fields: "uniqueName name",
    node: (row) => ({ uniqueName: row["unique_name"], name: row["name"] }),
  },
  experiments: {
    fields: `${RUN} declarations { name value } original { uniqueName } experimentGroup { uniqueName } buildJob { uniqueName }
      latestMetrics { name raw }`,
    node: (row) => ({
      ...run(row),
      declarations: row["declarations"] && declared(row["declarations"]),
      original: named(row["original"]),
      experimentGroup: named(row["experiment_group"]),
      buildJob: named(row["build_job"]),
      latestMetrics: row["last_metric"] && values(row["last_metric"]),
    }),
  },
  jobs: {
    fields: `${RUN} buildJob { uniqueName }`,
    node: (row) => ({ ...run(row), buildJob: named(row["build_job"]) }),
  },
  builds: { fields: RUN, node: run },
  groups: {
    fields: `${RUN} concurrency searchAlgorithm`,
    node: (row) => ({
      ...run(row),
      concurrency: row["concurrency"],
      searchAlgorithm: row["search_algorithm"],
    }),
  },
  statuses: {
    fields: "internalId uuid rawStatus createdAt message",
    node: (row) => ({
      internalId: `${row["id"]}`,
      uuid: row["uuid"],
      rawStatus: row["status"],
      createdAt: row["created_at"],
      message: row["message"],
    }),
  },
} as const satisfies Readonly<Record<string, Item>>;
