import type { ObjectRef } from "@pothos/core";
import type { Get } from "../../rest/api/endpoint.ts";
import { project, type ProjectRecord } from "../../rest/api/project.ts";
import type { Bookmark, Page } from "../../rest/api/page.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import { slice } from "../../rest/session/pages.ts";
import { builder, type PothosTypes } from "../core/builder.ts";
import {
  connect,
  connectPresent,
  type Connection,
  connectionOf,
  offsetArgs,
  type PageArgs,
  sliceRequest,
} from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { requires } from "../core/ids.ts";
import { Project, User } from "../core/refs.ts";
import { resolveReference, toResource } from "../core/resource.ts";
import { plural } from "../core/kinds.ts";
import { addScan, finding, scanPage } from "./list-scan.ts";
import { runLists } from "./run-list.ts";
import { readWhole } from "./whole-list.ts";
import { checkWords, wordsScan } from "./words-filter.ts";

/*
 * Lists of a user: projects, bookmarks and archived records. Bookmarks and archived runs are of several projects.
 */

type UserResource = typeof User.$inferType;
type OfUser<Row> = Get<{ readonly owner: string }, Page<Row>>;

/** A field of `User` with a list of the service. The node of a row can depend on whose list it is; null leaves the row out. */
const userList = <Row extends object, Node extends { readonly loaded: object }>(
  type: ObjectRef<PothosTypes, Connection<Node>>,
  endpoint: OfUser<Row>,
  description: string,
  toNode: (row: Row, user: UserResource) => Node | null,
) => ({
  type,
  description: description + requires(endpoint),
  args: offsetArgs,
  ...fieldsOf(User.kind).child(async (user, args: PageArgs, context) => {
    const list = { endpoint, address: { owner: user.address.username } };
    const request = sliceRequest(args, context);
    const { session } = context;
    const toOwnNode = (row: Row) => toNode(row, user);
    const readAll = async (most: number) => {
      const all = await readWhole(session, list, { most, maxSize: request.maxSize, matching: null });
      const nodes = all.records.map(toOwnNode).filter((node) => node !== null);
      return {
        ...all,
        records: nodes.map(({ loaded }) => loaded),
        nodeAt: (index: number) => nodes[index] ?? null,
      };
    };
    return { ...connectPresent(await slice(session, list, request), toOwnNode), readAll };
  }),
});

export const ProjectConnection = connectionOf("Project", Project, "A page of projects.");
addScan(ProjectConnection);

/** The arguments of lists of projects. */
export const projectArgs = builder.args((t) => ({
  words: t.string({
    description:
      "Words, in any case: each occurs in the name, the description or a tag of the project, also as part of a longer word. Servers search no texts: the gateway reads rows of the list, at most `gateway.limits.maxScannedRows` for one page, and `scan` of the list tells how many. Takes no `offset`. Up to 200 characters.",
  }),
  ...offsetArgs,
}));

interface ProjectArgs extends PageArgs {
  readonly words?: string | null | undefined;
}

/** Reads the projects of an owner that the caller may see. */
export async function readProjects(owner: string, { words, ...args }: ProjectArgs, context: Context) {
  const list = { endpoint: project.optional.list, address: { owner } };
  const toNode = (record: ProjectRecord) => toResource(Project.kind, { owner, project: record.name }, record);
  if (words != null) checkWords(words, "words");
  const scan = wordsScan(words);
  const find = scan && finding<ProjectRecord>(scan, args, context);
  const request = sliceRequest(args, context);
  return find
    ? scanPage(list, find, request, toNode, context)
    : connect(await slice(context.session, list, request), toNode);
}

/** A field with a list of an owner's projects. */
export const projectList = (description: string) => ({
  type: ProjectConnection,
  description: description + requires(project.optional.list),
  args: projectArgs,
  ...fieldsOf(User.kind).child(({ address: { username } }, args: ProjectArgs, context) =>
    readProjects(username, args, context),
  ),
});

const projectAddress = (name: string | null | undefined) =>
  resolveReference(Project.kind, name ?? "").address;

/** The endpoints of the lists that a user has of a kind. */
interface UserLists<Row> {
  readonly bookmarked?: OfUser<Bookmark<Row>>;
  readonly archived?: OfUser<Row>;
}

/** Adds the lists that a user has of a kind, such as `bookmarkedJobs` and `archivedJobs`. */
function addLists<Row extends object, Node extends { readonly loaded: object }>(
  [names, words]: readonly [names: string, words: string],
  type: ObjectRef<PothosTypes, Connection<Node>>,
  { bookmarked, archived }: UserLists<Row>,
  toNode: (row: Row) => Node,
): void {
  const whose = `${words} of the user, in all projects and in the order of the server. Empty if the caller may not see them.`;
  // Some servers show superusers the bookmarks of others: `bookmarked` tells of the caller.
  const fromBookmark = ({ content_object: row }: Bookmark<Row>, user: UserResource) =>
    row && toNode(user.loaded.is_viewer ? { ...row, bookmarked: true } : row);
  builder.objectFields(User, (t) => ({
    ...(bookmarked && {
      [`bookmarked${names}`]: t.field(
        userList(
          type,
          bookmarked,
          `Bookmarked ${whose} A bookmark whose record is gone is left out, though \`totalCount\` counts it.`,
          fromBookmark,
        ),
      ),
    }),
    ...(archived && { [`archived${names}`]: t.field(userList(type, archived, `Archived ${whose}`, toNode)) }),
  }));
}

addLists(["Projects", "projects"], ProjectConnection, project.optional, (row: ProjectRecord) =>
  toResource(Project.kind, projectAddress(row.unique_name), row),
);

for (const { target, type } of runLists) {
  const { name, many, optional = {} } = target.kind.run;
  addLists([plural(name), many], type, optional, (row: RunnableRecord) =>
    toResource(target.kind, { ...projectAddress(row.project), id: `${row.id}` }, row),
  );
}
