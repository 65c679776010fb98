import type { ObjectRef } from "@pothos/core";
import type { Get } from "../../rest/api/endpoint.ts";
import { project } from "../../rest/api/kinds.ts";
import type { ProjectRecord } from "../../rest/api/optional-records.ts";
import type { Page } from "../../rest/api/page.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { slice } from "../../rest/session/pages.ts";
import type { PothosTypes } from "../core/builder.ts";
import {
  connect,
  type Connection,
  connectionOf,
  offsetArgs,
  type PageArgs,
  sliceRequest,
} from "../core/connection.ts";
import { fieldsOf, type ResourceRef } from "../core/fields.ts";
import { requires } from "../core/look-up.ts";
import { Project, User } from "../core/refs.ts";
import { type Resource, resolveReference, toResource } from "../core/resource.ts";

/*
 * Lists of a user: projects, bookmarks and archived records. Bookmarks and archived runs are of several projects.
 */

type UserResource = typeof User.$inferType;
type ProjectResource = typeof Project.$inferType;

/** A field of `User` with a list of the service. The node of a row can depend on whose list it is. */
const userList = <Row, Node>(
  type: ObjectRef<PothosTypes, Connection<Node>>,
  endpoint: Get<{ readonly owner: string }, Page<Row>>,
  description: string,
  toNode: (row: Row, user: UserResource) => Node,
) => ({
  type,
  description: description + requires(endpoint),
  args: offsetArgs,
  ...fieldsOf(User.kind).child(async (user, args: PageArgs, context) => {
    const list = { endpoint, address: { owner: user.address.username } };
    const page = await slice(context.session, list, sliceRequest(args, context));
    return connect(page, (row) => toNode(row, user));
  }),
});

const ProjectConnection = connectionOf("Project", Project, "A page of projects.");

/** A field with a list of an owner's projects. */
export const projectList = (description: string) =>
  userList(ProjectConnection, project.optional.list, description, (record, { address: { username } }) =>
    toResource(Project.kind, { owner: username, project: record.name }, record),
  );

/** What a list has, and how a row becomes a node. */
interface Kept<Row, Node> {
  readonly type: ObjectRef<PothosTypes, Connection<Node>>;
  readonly toNode: (row: Row) => Node;
}

const projectAddress = (name: string | null | undefined) =>
  resolveReference(Project.kind, name ?? "").address;

export const PROJECTS: Kept<ProjectRecord, ProjectResource> = {
  type: ProjectConnection,
  toNode: (row) => toResource(Project.kind, projectAddress(row.unique_name), row),
};

/** Runs of one kind: `runs(JOBS)`. Their rows are partial records. */
export const runs = <R extends { readonly id: number; readonly project?: string | null | undefined }>({
  type,
  target: { kind },
}: {
  readonly type: ObjectRef<PothosTypes, Connection<Resource<R, RunAddress>>>;
  readonly target: ResourceRef<R, RunAddress>;
}): Kept<R, Resource<R, RunAddress>> => ({
  type,
  toNode: (row) => toResource(kind, { ...projectAddress(row.project), id: `${row.id}` }, row),
});

/** A field with the archived records of a user. */
export const archived = <R, Node>(
  { type, toNode }: Kept<R, Node>,
  endpoint: Get<{ readonly owner: string }, Page<R>>,
  records: string,
) =>
  userList(
    type,
    endpoint,
    `Archived ${records} of the user, in all projects and in the order of the server. Empty if the caller may not see them.`,
    toNode,
  );

/** A field with the bookmarks of a user. */
export const bookmarked = <R extends object, Node>(
  { type, toNode }: Kept<R, Node>,
  endpoint: Get<{ readonly owner: string }, Page<{ readonly content_object: R }>>,
  records: string,
) =>
  userList(
    type,
    endpoint,
    `Bookmarked ${records} of the user, in all projects and in the order of the server. Empty if the caller may not see them.`,
    // Some servers show superusers the bookmarks of others: `bookmarked` tells of the caller.
    ({ content_object: row }, { loaded: { is_viewer } }) =>
      toNode(is_viewer ? { ...row, bookmarked: true } : row),
  );
