import type { InputShapeFromFields } from "@pothos/core";
import type { AnyEndpoint, Get } from "../../rest/api/endpoint.ts";
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
import { addScan, finding, scanPage } from "./list-scan.ts";
import { RUN_KINDS } from "./run-list.ts";
import { checkWords, WORDS, wordsTest } from "./scan-filters.ts";

/*
 * Lists of a user: projects, bookmarks and archived records. Bookmarks and archives are of several projects.
 */

type UserResource = typeof User.$inferType;

export const ProjectConnection = connectionOf(Project, "A page of projects.");
addScan(ProjectConnection);

/** The arguments of lists of projects. */
export const projectArgs = builder.args((t) => ({
  words: t.string({ description: WORDS }),
  ...offsetArgs,
}));

type ProjectArgs = InputShapeFromFields<typeof projectArgs>;

/** Reads the projects of an owner that the caller may see. */
export async function readProjects(owner: string, { words, ...args }: ProjectArgs, context: Context) {
  const list = { endpoint: project.optional.list, address: { owner }, narrowing: words ?? "" };
  const toNode = (record: ProjectRecord) => toResource(Project.kind, { owner, project: record.name }, record);
  if (words != null) checkWords(words, "words");
  const isMatch = wordsTest(words);
  const find = isMatch && finding<ProjectRecord>(isMatch, ["words"], args, context);
  const request = sliceRequest(args, context);
  return find
    ? scanPage(list, find, request, toNode, context)
    : connect(await slice(context.session, list, request), toNode);
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

interface KeptList<Row> {
  readonly endpoint: OfUser<Row>;
  /** The node of a row can depend on whose list it is; null leaves the row out. */
  readonly toNode: (row: Row, user: UserResource) => Resource | null;
}

/** The lists that a user has of a kind. */
const listsOf = <Row extends object>(
  { bookmarked, archived }: { readonly bookmarked: OfUser<Bookmark<Row>>; readonly archived: OfUser<Row> },
  toNode: (row: Row) => Resource,
) => {
  const bookmarks: KeptList<Bookmark<Row>> = {
    endpoint: bookmarked,
    // Some servers show superusers the bookmarks of others: `bookmarked` tells of the caller.
    toNode: ({ content_object: row }, { loaded }) =>
      row && toNode(loaded.is_viewer ? { ...row, bookmarked: true } : row),
  };
  // Safe: each list is read with its own rows.
  return { bookmarks, archives: { endpoint: archived, toNode } } as unknown as Kept;
};

type Kept = Readonly<Record<"bookmarks" | "archives", KeptList<object>>>;

/** The kinds that a user keeps, by their names in `KeptKind`. */
const KEPT = new Map<string, Kept>([
  ...[...RUN_KINDS].flatMap(([name, kind]): [string, Kept][] => {
    const { bookmarked, archived } = kind.run.optional ?? {};
    const toNode = (row: RunnableRecord) =>
      toResource(kind, { ...projectAddress(row.project), id: `${row.id}` }, row);
    return bookmarked && archived ? [[name, listsOf({ bookmarked, archived }, toNode)]] : [];
  }),
  [
    "PROJECT",
    listsOf(project.optional, (row: ProjectRecord) =>
      toResource(Project.kind, projectAddress(row.unique_name), row),
    ),
  ],
]);

const KeptKind = builder.enumType("KeptKind", {
  description: "Kinds of records that users bookmark and archive.",
  values: Object.fromEntries(
    [...KEPT.keys()].map((name) => [
      name,
      {
        description: `${capital(RUN_KINDS.get(name)?.run.many ?? "projects")}.`,
      },
    ]),
  ),
});

const EntityConnection = connectionOf(Entity, "A page of runs or projects.");

const keptArgs = builder.args((t) => ({
  kind: t.field({ type: KeptKind, required: true, defaultValue: "EXPERIMENT", description: "Their kind." }),
  ...offsetArgs,
}));

type KeptArgs = InputShapeFromFields<typeof keptArgs>;

/** A field with a list of what a user keeps of a kind. */
const keptList = (list: keyof Kept, records: string, { optional }: Pick<AnyEndpoint, "optional">) => ({
  type: EntityConnection,
  description: `${records} of all projects, in the server's order. Empty if the caller may not see them.${requires({ optional })}`,
  args: keptArgs,
  ...child(async (user, { kind, ...args }: KeptArgs, context) => {
    const { endpoint, toNode } = KEPT.get(kind)?.[list] ?? {};
    if (!endpoint || !toNode) throw new TypeError(`expected a kind that is kept, got ${kind}`);
    const read = { endpoint, address: { owner: user.address.username } };
    const page = await slice(context.session, read, sliceRequest(args, context));
    const { items, cursorAt } = page;
    // A bookmark can be of nothing.
    const present = [...items.keys()].flatMap((index) => {
      const node = toNode(items[index] as object, user);
      return node ? [{ index, node }] : [];
    });
    return {
      ...connect(
        { ...page, items: present, cursorAt: (index) => cursorAt(present[index]?.index ?? index) },
        ({ node }) => node,
      ),
      endCursor: () => (items.length > 0 ? cursorAt(items.length - 1) : null),
    };
  }),
});

builder.objectFields(User, (t) => ({
  bookmarks: t.field(keptList("bookmarks", "Bookmarks", project.optional.bookmarked)),
  archives: t.field(keptList("archives", "Archived records", project.optional.archived)),
}));
