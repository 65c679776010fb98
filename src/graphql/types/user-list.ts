import type { ObjectRef } from "@pothos/core";
import type { Get } from "../../rest/api/endpoint.ts";
import type { Page } from "../../rest/api/page.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { slice } from "../../rest/session/pages.ts";
import type { PothosTypes } from "../core/builder.ts";
import { connect, type Connection, type PageArgs, pageArgs, sliceRequest } from "../core/connection.ts";
import { fieldsOf, type ResourceRef } from "../core/fields.ts";
import { Project, User } from "../core/refs.ts";
import { type Resource, resolveReference, toResource } from "../core/resource.ts";

/*
 * Lists of a user's bookmarks and archived records. They span projects, so each row tells its project.
 */

type UserResource = typeof User.$inferType;

/** A field of `User` with a list of the service. The node of a row can depend on whose list it is. */
const userList = <Row, Node>(
  type: ObjectRef<PothosTypes, Connection<Node>>,
  endpoint: Get<{ readonly owner: string }, Page<Row>>,
  description: string,
  toNode: (row: Row, user: UserResource) => Node,
) => ({
  type,
  description,
  args: pageArgs,
  ...fieldsOf(User.kind).child(async (user, args: PageArgs, context) => {
    const list = { endpoint, address: { owner: user.address.username } };
    const page = await slice(context.session, list, sliceRequest(args, context));
    return connect(page, (row) => toNode(row, user));
  }),
});

/** Creates the node of a row. */
type ToNode<R, Node> = (row: R) => Node;

/** A field with the archived records of a user. */
export const archived = <R, Node>(
  type: ObjectRef<PothosTypes, Connection<Node>>,
  endpoint: Get<{ readonly owner: string }, Page<R>>,
  toNode: ToNode<R, Node>,
  records: string,
) =>
  userList(
    type,
    endpoint,
    `Archived ${records} of the user, in all projects and in the order of the server. Empty if the caller may not see them. Requires the capability \`ARCHIVES\`.`,
    toNode,
  );

/** A field with the bookmarks of a user. */
export const bookmarked = <R extends object, Node>(
  type: ObjectRef<PothosTypes, Connection<Node>>,
  endpoint: Get<{ readonly owner: string }, Page<{ readonly content_object: R }>>,
  toNode: ToNode<R, Node>,
  records: string,
) =>
  userList(
    type,
    endpoint,
    `Bookmarked ${records} of the user, in all projects and in the order of the server. Empty if the caller may not see them. Requires the capability \`BOOKMARKS\`.`,
    // Some servers show superusers the bookmarks of others: `bookmarked` tells of the caller.
    ({ content_object: row }, { loaded: { is_viewer } }) =>
      toNode(is_viewer ? { ...row, bookmarked: true } : row),
  );

/** Creates the nodes of one kind of run from rows, which are partial records. */
export const runIn =
  <R extends { readonly id: number; readonly project?: string | null | undefined }>({
    kind,
  }: ResourceRef<R, RunAddress>): ToNode<R, Resource<R, RunAddress>> =>
  (row) => {
    const { owner, project } = projectIn(row.project).address;
    return toResource(kind, { owner, project, id: `${row.id}` }, row);
  };

const projectIn = (name: string | null | undefined) => resolveReference(Project.kind, name ?? "");

export const projectOf = (row: { readonly unique_name?: string | null | undefined }) =>
  projectIn(row.unique_name);
