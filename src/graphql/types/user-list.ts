import type { InputShapeFromFields } from "@pothos/core";
import type { Get } from "../../rest/api/endpoint.ts";
import { project, type ProjectRecord } from "../../rest/api/project.ts";
import { capital } from "../../rest/api/kind.ts";
import type { Bookmark, Page } from "../../rest/api/reader.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import { slice } from "../../rest/session/pages.ts";
import { builder } from "../core/builder.ts";
import { connect, connectionOf, offsetArgs, sliceRequest } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { requires } from "../core/ids.ts";
import { Entity, Project, User } from "../core/refs.ts";
import { type Resource, resolveReference, toResource } from "../core/resource.ts";
import { addScan, finding, readPage } from "./list-scan.ts";
import { runLists } from "./run-list.ts";
import { WORDS, wordsTest } from "./scan-filters.ts";

/*
 * Lists of a user: projects, bookmarks and archived records. Bookmarks and archives are of several projects.
 */

export const ProjectConnection = connectionOf(Project, "A page of projects.");
addScan(ProjectConnection);

/** The arguments of lists of projects. */
export const projectArgs = builder.args((t) => ({
  words: t.string({ description: WORDS }),
  ...offsetArgs,
}));

type ProjectArgs = InputShapeFromFields<typeof projectArgs>;

/** Reads the projects of an owner that the caller may see. */
export function readProjects(owner: string, { words, ...args }: ProjectArgs, context: Context) {
  const list = { endpoint: project.optional.list, address: { owner }, narrowing: words ?? "" };
  const toNode = (record: ProjectRecord) => toResource(Project.kind, { owner, project: record.name }, record);
  const isMatch = wordsTest(words, "words");
  const find = isMatch && finding<ProjectRecord>(isMatch, ["words"], args, context);
  return readPage(list, { ...sliceRequest(args, context), find }, toNode, context);
}

const { child } = fieldsOf(User.kind);

/** A field with a list of an owner's projects. */
export const projectList = (description: string) => ({
  type: ProjectConnection,
  description: description + requires(project.optional.list),
  args: projectArgs,
  ...child(({ address: { username } }, args: ProjectArgs, context) => readProjects(username, args, context)),
});

const projectAddress = (name: string | null | undefined) =>
  resolveReference(Project.kind, name ?? "").address;

type OfUser<Row> = Get<{ readonly owner: string }, Page<Row>>;

/** What users keep of a kind. */
interface Kept<Row extends object = object> {
  readonly many: string;
  readonly bookmarked: OfUser<Bookmark<Row>>;
  readonly archived: OfUser<Row>;
  toNode(row: Row): Resource;
}

const projects: Kept<ProjectRecord> = {
  ...project.optional,
  many: project.records,
  toNode: (row) => toResource(Project.kind, projectAddress(row.unique_name), row),
};

/** The kinds that a user keeps, by their names in `KeptKind`. */
const KEPT = new Map<string, Kept>([
  ...[...runLists].flatMap(([name, { target }]): [string, Kept][] => {
    const { kind } = target;
    const { many, optional: { bookmarked, archived } = {} } = kind.run;
    const toNode = (row: RunnableRecord) =>
      toResource(kind, { ...projectAddress(row.project), id: `${row.id}` }, row);
    // Safe: each is read with its own rows.
    return bookmarked && archived ? [[name, { many, bookmarked, archived, toNode } as Kept]] : [];
  }),
  ["PROJECT", projects as Kept],
]);

const KeptKind = builder.enumType("KeptKind", {
  description: "Kinds of records that users bookmark and archive.",
  values: Object.fromEntries(
    [...KEPT].map(([name, { many }]) => [name, { description: `${capital(many)}.` }]),
  ),
});

const EntityConnection = connectionOf(Entity, "A page of runs or projects.");

const keptArgs = builder.args((t) => ({
  kind: t.field({ type: KeptKind, required: true, defaultValue: "EXPERIMENT", description: "Their kind." }),
  ...offsetArgs,
}));

type KeptArgs = InputShapeFromFields<typeof keptArgs>;

/** A field with a list of what a user keeps of a kind. */
const keptList = (list: "bookmarked" | "archived", records: string) => ({
  type: EntityConnection,
  description: `${records} of all projects, in the server's order. Empty if the caller may not see them.${requires(project.optional[list])}`,
  args: keptArgs,
  ...child(async ({ address, loaded }, { kind, ...args }: KeptArgs, context) => {
    const kept = KEPT.get(kind);
    if (!kept) throw new TypeError(`expected a kind that is kept, got ${kind}`);
    // Some servers show superusers the bookmarks of others: `bookmarked` tells of the caller.
    const bookmark = loaded.is_viewer ? { bookmarked: true } : {};
    // Safe: the rows are those of the list.
    const toNode = (row: object): Resource | null => {
      if (list === "archived") return kept.toNode(row);
      const { content_object: record } = row as Bookmark<object>;
      return record && kept.toNode({ ...record, ...bookmark });
    };
    const read = { endpoint: kept[list] as OfUser<object>, address: { owner: address.username } };
    const page = await slice(context.session, read, sliceRequest(args, context));
    const nodes = page.items.map(toNode);
    // A bookmark can be of nothing.
    const items = nodes.flatMap((node, index) => (node ? [{ node, index }] : []));
    const cursorAt = (index: number) => page.cursorAt(items[index]?.index ?? index);
    return {
      ...connect({ ...page, items, cursorAt }, ({ node }) => node),
      endCursor: () => (nodes.length > 0 ? page.cursorAt(nodes.length - 1) : null),
    };
  }),
});

builder.objectFields(User, (t) => ({
  bookmarks: t.field(keptList("bookmarked", "Bookmarks")),
  archives: t.field(keptList("archived", "Archived records")),
}));
