import type { Get } from "../../rest/api/endpoint.ts";
import { project, type ProjectRecord } from "../../rest/api/project.ts";
import { capital } from "../../rest/api/kind.ts";
import type { Bookmark, Page } from "../../rest/api/reader.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import { slice } from "../../rest/session/pages.ts";
import { builder } from "../core/builder.ts";
import {
  connect,
  connectPresent,
  connectionOf,
  offsetArgs,
  type PageArgs,
  sliceRequest,
} from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { requires } from "../core/ids.ts";
import { Entity, Project, User } from "../core/refs.ts";
import { type Resource, resolveReference, toResource } from "../core/resource.ts";
import { addScan, finding, scanPage } from "./list-scan.ts";
import { RUN_KINDS } from "./run-list.ts";
import { checkWords, wordsScan } from "./words-filter.ts";

/*
 * Lists of a user: projects, bookmarks and archived records. Bookmarks and archives are of several projects.
 */

type UserResource = typeof User.$inferType;

export const ProjectConnection = connectionOf(Project, "A page of projects.");
addScan(ProjectConnection);

/** The arguments of lists of projects. */
export const projectArgs = builder.args((t) => ({
  words: t.string({
    description:
      "Words, in any case, that all occur in name, description or tags. Found by a scan: see `ListScan`.",
  }),
  ...offsetArgs,
}));

interface ProjectArgs extends PageArgs {
  readonly words?: string | null | undefined;
}

/** Reads the projects of an owner that the caller may see. */
export async function readProjects(owner: string, { words, ...args }: ProjectArgs, context: Context) {
  const list = { endpoint: project.optional.list, address: { owner }, narrowing: words ?? "" };
  const toNode = (record: ProjectRecord) => toResource(Project.kind, { owner, project: record.name }, record);
  if (words != null) checkWords(words, "words");
  const scan = wordsScan(words);
  const find = scan && finding<ProjectRecord>(scan, args, context);
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

/** The lists that a user has of a kind, with the resource of each row. */
interface Kept<Row extends object = object> {
  readonly bookmarked: OfUser<Bookmark<Row>>;
  readonly archived: OfUser<Row>;
  readonly toNode: (row: Row) => Resource;
}

/** The kinds that a user keeps, by their names in `KeptKind`. */
const KEPT = new Map<string, Kept>([
  ...[...RUN_KINDS].flatMap(([name, kind]): [string, Kept][] => {
    const { bookmarked, archived } = kind.run.optional ?? {};
    const toNode = (row: RunnableRecord) =>
      toResource(kind, { ...projectAddress(row.project), id: `${row.id}` }, row);
    // Safe: the rows of its lists are those of the kind. The same applies below.
    return bookmarked && archived ? [[name, { bookmarked, archived, toNode } as unknown as Kept]] : [];
  }),
  [
    "PROJECT",
    {
      ...project.optional,
      toNode: (row: ProjectRecord) => toResource(Project.kind, projectAddress(row.unique_name), row),
    } as unknown as Kept,
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

interface KeptArgs extends PageArgs {
  readonly kind: string;
}

/** Reads a list of what a user keeps. The node of a row can depend on whose list it is; null leaves the row out. */
async function readKept<Row>(
  user: UserResource,
  { kind, ...args }: KeptArgs,
  context: Context,
  rowsOf: (kept: Kept) => { readonly endpoint: OfUser<Row>; readonly toNode: (row: Row) => Resource | null },
) {
  const kept = KEPT.get(kind);
  if (!kept) throw new TypeError(`expected a kind that is kept, got ${kind}`);
  const { endpoint, toNode } = rowsOf(kept);
  const list = { endpoint, address: { owner: user.address.username } };
  return connectPresent(await slice(context.session, list, sliceRequest(args, context)), toNode);
}

const OF_ALL_PROJECTS = "of all projects, in the server's order. Empty if the caller may not see them.";

builder.objectFields(User, (t) => ({
  bookmarks: t.field({
    type: EntityConnection,
    description: `Bookmarks ${OF_ALL_PROJECTS}${requires(project.optional.bookmarked)}`,
    args: keptArgs,
    ...child((user, args: KeptArgs, context) =>
      readKept(user, args, context, ({ bookmarked, toNode }) => ({
        endpoint: bookmarked,
        // Some servers show superusers the bookmarks of others: `bookmarked` tells of the caller.
        toNode: ({ content_object: row }: Bookmark<object>) =>
          row && toNode(user.loaded.is_viewer ? { ...row, bookmarked: true } : row),
      })),
    ),
  }),
  archives: t.field({
    type: EntityConnection,
    description: `Archived records ${OF_ALL_PROJECTS}${requires(project.optional.archived)}`,
    args: keptArgs,
    ...child((user, args: KeptArgs, context) =>
      readKept(user, args, context, ({ archived, toNode }) => ({ endpoint: archived, toNode })),
    ),
  }),
}));
