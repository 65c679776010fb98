import type { ObjectRef } from "@pothos/core";
import type { Get } from "../../rest/api/endpoint.ts";
import { InputError } from "../../errors.ts";
import { optional } from "../../rest/api/endpoints.ts";
import { slice } from "../../rest/session/pages.ts";
import type { Page } from "../../rest/api/page.ts";
import type { Order } from "../../rest/api/profile.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder, type PothosTypes } from "../core/builder.ts";
import {
  connect,
  type Connection,
  connectionOf,
  type PageArgs,
  pageArgs,
  sliceRequest,
} from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf, type ResourceRef } from "../core/fields.ts";
import { type Address, type Resource, toResource } from "../core/resource.ts";
import type { UserAddress } from "../core/kinds.ts";
import type { IsSelected } from "../../engine/field-source.ts";
import { BuildJob, Experiment, Group, Job, Project } from "../core/refs.ts";

/*
 * Lists of runs. They are not in the service's document, but frontends need them. The fields are always in the schema, so
 * that generated code and composition do not depend on the deployment.
 */

const RunOrder = builder.enumType("RunOrder", {
  description:
    "Order of a list of runs. Where the server does not have it, the list is null with the code `CAPABILITY_UNAVAILABLE`.",
  values: {
    UPDATED_DESC: { description: "Newest change first." },
    CREATED_DESC: { description: "Newest first." },
    CREATED_ASC: { description: "Oldest first." },
  },
});

export const ExperimentConnection = connectionOf("Experiment", Experiment, "A page of experiments.");
export const JobConnection = connectionOf("Job", Job, "A page of jobs.");
export const BuildJobConnection = connectionOf("BuildJob", BuildJob, "A page of build jobs.");
export const GroupConnection = connectionOf("Group", Group, "A page of groups.");
export const ProjectConnection = connectionOf("Project", Project, "A page of projects.");

type RunListArgs = PageArgs & {
  readonly orderBy?: Order | null | undefined;
  readonly query?: string | null | undefined;
};

/** Longest filter, in characters. */
const MAX_FILTER_LENGTH = 2_000;

/** Throws `InputError`. */
export function checkFilter({ query }: Pick<RunListArgs, "query">): void {
  if (query && query.length > MAX_FILTER_LENGTH) {
    throw new InputError(`query: expected at most ${MAX_FILTER_LENGTH} characters, got ${query.length}`);
  }
}

interface InProject {
  readonly owner: string;
  readonly project: string;
}

interface ListOptions<Of> {
  /** The id of the group to which the list is restricted. */
  readonly groupOf?: (address: Of) => string;
  /** Prefetches a list that the runs need, before the runs are loaded. */
  readonly prefetchList?: (address: Of, context: Context, isSelected: (field: string) => boolean) => void;
}

const isSelectedOfNodes = (isSelected: IsSelected, field: string): boolean =>
  isSelected("nodes", field) || isSelected("edges", "node", field);

/**
 * A field with a list of runs of a project, or of another parent in it, such as a group:
 * `jobs: t.field(runList(JobConnection, Job, optional.jobs, "Jobs of the project."))`. Its rows are partial records.
 */
export const runList = <
  R extends { readonly id: number },
  Of extends InProject & Address = InProject & Address,
>(
  type: ObjectRef<PothosTypes, Connection<Resource<R, RunAddress>>>,
  target: ResourceRef<R, RunAddress>,
  endpoint: Get<InProject, Page<R>>,
  description: string,
  { groupOf, prefetchList }: ListOptions<Of> = {},
) => ({
  type,
  description: `${description} Requires the capability \`LISTS\`.`,
  args: builder.args((t) => ({
    ...pageArgs,
    orderBy: t.field({ type: RunOrder, description: "Order. Default: the order of the server." }),
    query: t.string({
      description:
        "Filter in the query language of the server, such as `status:running`. Forwarded unchanged.",
    }),
  })),
  ...fieldsOf<object, Of>().child(
    async ({ address }, args: RunListArgs, context: Context, isSelected) => {
      checkFilter(args);
      const { orderBy: order, query } = args;
      const base = context.session.server.listQuery({ group: groupOf?.(address), order, query });
      const list = { endpoint, address, base };
      const request = sliceRequest(args, context);
      // A filter, or `first: 1`, may leave too few runs to be worth it.
      if (!args.query && request.first !== 1)
        prefetchList?.(address, context, (field) => isSelectedOfNodes(isSelected, field));
      const page = await slice(context.session, list, request);
      const { owner, project } = address;
      return connect(page, (record) =>
        toResource(target.kind, { owner, project, id: `${record.id}` }, record),
      );
    },
    // The service returns an empty list for a group that does not exist.
    ({ nodes, count }) => nodes.length > 0 || (count ?? 0) > 0,
  ),
});

/** A field with a list of an owner's projects. */
export const projectList = (description: string) => ({
  type: ProjectConnection,
  description: `${description} Requires the capability \`LISTS\`.`,
  args: pageArgs,
  ...fieldsOf<object, UserAddress>().child(async ({ address: { username } }, args: PageArgs, context) => {
    const list = { endpoint: optional.projects, address: { owner: username } };
    const page = await slice(context.session, list, sliceRequest(args, context));
    return connect(page, ({ name }) => toResource(Project.kind, { owner: username, project: name }));
  }),
});
