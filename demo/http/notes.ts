import { uuid } from "../newer-keys.ts";
import { timestamp } from "../records.ts";
import type { ChartView, SavedSearch } from "../notes.ts";
import { nextId, type Run } from "../store.ts";
import { findReadable, findWritable, projectOf, requireUser } from "./accounts.ts";
import type { Kind } from "../kinds.ts";
import { page } from "./lists.ts";
import {
  type DemoRequest,
  type DemoResponse,
  empty,
  fieldsOf,
  type Handler,
  HttpError,
  json,
  notFound,
  textField,
} from "./messages.ts";

/*
 * Saved searches and chart views.
 */

/** The caller's searches of the project and kind in the path, the latest first. */
function searchesOf(request: DemoRequest): readonly SavedSearch[] {
  const { username } = requireUser(request);
  const project = projectOf(request);
  return [...request.store.notes.searches.values()]
    .filter(
      (each) => each.user === username && each.project === project && each.kind === request.params["kind"],
    )
    .toReversed();
}

const searchRecord = ({ id, name, query, meta }: SavedSearch) => ({ id, name, query, meta });

export const searches: Handler = (request) => page(request, searchesOf(request), searchRecord);

function required(fields: Readonly<Record<string, unknown>>, name: string): unknown {
  const value = fields[name];
  if (value === undefined) throw new HttpError(400, { [name]: ["This field is required."] });
  return value;
}

/** A name that is taken gets a number, which real servers count over all searches. */
export function saveSearch(request: DemoRequest): DemoResponse {
  const { store, params } = request;
  const fields = fieldsOf(request.body());
  const query = required(fields, "query");
  const given = textField("name", required(fields, "name"));
  const taken = new Set([...store.notes.searches.values()].map(({ name }) => name));
  let name = given;
  for (let number = 1; taken.has(name); number++) name = `${given}-${number}`;
  const search: SavedSearch = {
    id: nextId(store, "search"),
    project: projectOf(request),
    kind: params["kind"] ?? "",
    user: requireUser(request).username,
    name,
    query,
    meta: fields["meta"] ?? {},
  };
  store.notes.searches.set(search.id, search);
  return json(201, searchRecord(search));
}

export function deleteSearch(request: DemoRequest): DemoResponse {
  const search = searchesOf(request).find(({ id }) => id === Number(request.params["id"]));
  if (!search) throw notFound();
  request.store.notes.searches.delete(search.id);
  return empty(204);
}

const viewsOf = ({ store }: DemoRequest, run: Run): readonly ChartView[] =>
  [...store.notes.chartViews.values()].filter((view) => view.run === run).toReversed();

const viewRecord = (run: Run, { id, name, charts, meta, createdAt }: ChartView) => ({
  id,
  uuid: uuid("chart view", id),
  name,
  created_at: timestamp(createdAt),
  updated_at: timestamp(createdAt),
  charts,
  meta,
  [run.kind === "group" ? "experiment_group" : run.kind]: run.id,
});

export function chartViews<R extends Run>(kind: Kind<R>): Handler {
  return (request) => {
    const run = findReadable(request, kind);
    return page(request, viewsOf(request, run), (view) => viewRecord(run, view));
  };
}

export function createChartView<R extends Run>(kind: Kind<R>): Handler {
  return (request) => {
    const { store } = request;
    const run = findWritable(request, kind);
    const fields = fieldsOf(request.body());
    const view: ChartView = {
      id: nextId(store, "chart view"),
      run,
      name: textField("name", required(fields, "name")),
      charts: required(fields, "charts"),
      meta: fields["meta"] ?? {},
      createdAt: store.time,
    };
    store.notes.chartViews.set(view.id, view);
    return json(201, viewRecord(run, view));
  };
}

export function deleteChartView<R extends Run>(kind: Kind<R>): Handler {
  return (request) => {
    const run = findWritable(request, kind);
    const view = viewsOf(request, run).find(({ id }) => id === Number(request.params["view"]));
    if (!view) throw notFound();
    request.store.notes.chartViews.delete(view.id);
    return empty(204);
  };
}
