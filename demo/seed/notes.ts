import { noteCreations } from "../http/activity.ts";
import { nextId, type Store } from "../store.ts";
import type { Projects } from "./people.ts";

/** What ada has saved beside her runs, and who created which run. */
export function seedNotes(store: Store, { mnist: project }: Projects): void {
  const { searches, chartViews } = store.notes;
  searches.set(1, {
    id: nextId(store, "search"),
    project,
    kind: "experiments",
    user: "ada",
    name: "best",
    query: { query: "status:succeeded", sort: "-metric.accuracy" },
    meta: {},
  });
  const group = store.runs.group.get(1);
  if (group) {
    chartViews.set(1, {
      id: nextId(store, "chart view"),
      run: group,
      name: "losses",
      charts: [{ id: "loss", name: "Loss", metricNames: ["loss"] }],
      meta: { smoothing: 0 },
      createdAt: Date.UTC(2026, 1, 20, 9),
    });
  }
  noteCreations(store);
}
