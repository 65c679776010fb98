import { globalId } from "../ids.ts";
import type { Row } from "../recorded-items.ts";
import type { Asked, RecordedRow } from "../recorded-rows.ts";

const VIEW = "id internalId uuid name createdAt updatedAt charts meta run { uniqueName }";
const VIEW_ID = globalId("ChartView:alice/mnist/experiments/1/1");

const viewOf = ({ id, uuid, name, created_at: createdAt, updated_at: updatedAt, charts, meta }: Row) => ({
  id: VIEW_ID,
  internalId: `${String(id)}`,
  uuid,
  name,
  createdAt,
  updatedAt,
  charts,
  meta,
});

const views = (root: string, type: string): Asked => ({
  document: `{ thing: ${root} { ... on ${type} { list: chartViews { nodes { ${VIEW.replace(" run { uniqueName }", "")} } totalCount } } } }`,
  told: ({ count, results }) => ({
    list: { nodes: (results as readonly Row[]).map(viewOf), totalCount: count },
  }),
});

/** The recorded pages have no entry. */
const nothing = { nodes: [], totalCount: 0, pageInfo: { hasNextPage: false } };
const PAGE = "nodes { internalId } totalCount pageInfo { hasNextPage }";

const activity = (owner: string, name: string): Asked => ({
  document: `{ thing: project(owner: "${owner}", name: "${name}") { activity(first: 3) { ${PAGE} } } }`,
  told: () => ({ activity: nothing }),
});

const ofCaller = (field: string): Asked => ({
  document: `{ thing: ${field}(first: 3) { ${PAGE} } }`,
  told: () => nothing,
});

/** Chart views, activity and history. */
export const NOTE_ROWS: Readonly<Record<string, RecordedRow>> = {
  activity: ofCaller("activity"),
  "activity of a project": activity("alice", "mnist"),
  history: ofCaller("history"),
  "activity of a private project": activity("bob", "secret"),
  "a chart view": {
    document: `mutation { thing: createExperimentChartView(
      id: "alice.mnist.1"
      input: { name: "v", charts: [{ id: "c", name: "loss", metricNames: ["loss"] }], meta: { smoothing: 0 } }
    ) { chartView { ${VIEW.replace("uniqueName", "id")} } } }`,
    told: (json) => ({
      chartView: { ...viewOf(json), run: { id: globalId("Experiment:alice/mnist/1") } },
    }),
  },
  "chart views": views(`entity(id: "${globalId("Experiment:alice/mnist/1")}")`, "Experiment"),
  "delete it": {
    document: `mutation { thing: deleteChartView(id: "${VIEW_ID}") { deletedId } }`,
    told: () => ({ deletedId: VIEW_ID }),
  },
  "chart views of a group": views(`entity(id: "${globalId("Group:alice/mnist/1")}")`, "Group"),
};
