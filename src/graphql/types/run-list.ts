import type { InputFieldMap, ObjectRef } from "@pothos/core";
import type { Get } from "../../rest/api/endpoint.ts";
import { InputError } from "../../errors.ts";
import { optional } from "../../rest/api/endpoints.ts";
import { slice } from "../../rest/session/pages.ts";
import type { Page } from "../../rest/api/page.ts";
import type { ListRequest } from "../../rest/api/list-query.ts";
import type { MetricDirection, Order } from "../../rest/api/profile.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder, type PothosTypes } from "../core/builder.ts";
import {
  connect,
  type Connection,
  connectionOf,
  offsetArgs,
  type PageArgs,
  sliceRequest,
} from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf, type ResourceRef } from "../core/fields.ts";
import { type Address, type Resource, toResource } from "../core/resource.ts";
import type { IsSelected } from "../../engine/field-source.ts";
import { BuildJob, Experiment, Group, Job } from "../core/refs.ts";
import {
  BuildJobFilter,
  conditionsOf,
  ExperimentFilter,
  GroupFilter,
  JobFilter,
  type RunFilter,
} from "./run-filter.ts";

/*
 * Lists of runs. They are not in the service's document, but frontends need them. The fields are always in the schema, so
 * that generated code and composition do not depend on the deployment.
 */

const RunOrder = builder.enumType("RunOrder", {
  description:
    "Order of a list of runs. Where the server does not have it, the list is null with the code `CAPABILITY_UNAVAILABLE`.",
  values: {
    UPDATED_DESC: { description: "Newest change first." },
    UPDATED_ASC: { description: "Oldest change first." },
    CREATED_DESC: { description: "Newest first." },
    CREATED_ASC: { description: "Oldest first." },
    STARTED_DESC: {
      description: "Latest start first. Known servers put runs that have not started before all others.",
    },
    STARTED_ASC: { description: "Earliest start first. Runs that have not started come last." },
    FINISHED_DESC: {
      description: "Latest end first. Known servers put runs that have not ended before all others.",
    },
    FINISHED_ASC: { description: "Earliest end first. Runs that have not ended come last." },
  } satisfies Record<Order, object>,
});

const OrderDirection = builder.enumType("OrderDirection", {
  description: "Direction of an order.",
  values: {
    ASC: { description: "Smallest value first." },
    DESC: { description: "Largest value first." },
  } satisfies Record<MetricDirection, object>,
});

const MetricOrder = builder.inputType("MetricOrder", {
  description:
    "Order of experiments by the last value of a metric. Among equal values there is no order, so pages can repeat or miss some of them.",
  fields: (t) => ({
    name: t.string({
      required: true,
      description: "Name of the metric: letters, digits and single `_` in between.",
    }),
    direction: t.field({
      type: OrderDirection,
      required: true,
      description:
        "Direction. Largest value first, experiments without the metric are left out; smallest value first, they come last.",
    }),
  }),
});

const ExperimentConnection = connectionOf("Experiment", Experiment, "A page of experiments.");
const JobConnection = connectionOf("Job", Job, "A page of jobs.");
const BuildJobConnection = connectionOf("BuildJob", BuildJob, "A page of build jobs.");
const GroupConnection = connectionOf("Group", Group, "A page of groups.");

type RunListArgs = PageArgs & {
  readonly orderBy?: Order | null | undefined;
  readonly orderByMetric?: ListRequest["metricOrder"];
  readonly filter?: RunFilter | null | undefined;
  readonly query?: string | null | undefined;
};

interface InProject {
  readonly owner: string;
  readonly project: string;
}

/** A kind of list of runs. */
interface RunListKind<R extends object, Args extends InputFieldMap> {
  readonly type: ObjectRef<PothosTypes, Connection<Resource<R, RunAddress>>>;
  readonly target: ResourceRef<R, RunAddress>;
  readonly endpoint: Get<InProject, Page<R>>;
  /** The arguments that only lists of this kind have. */
  readonly args: Args;
}

interface ListOptions<Of> {
  /** The id of the group to which the list is restricted. */
  readonly groupOf?: (address: Of) => string;
  /** Prefetches a list that the runs need, before the runs are loaded. */
  readonly prefetchList?: (address: Of, context: Context, isSelected: (field: string) => boolean) => void;
}

const isSelectedOfNodes = (isSelected: IsSelected, field: string): boolean =>
  isSelected("nodes", field) || isSelected("edges", "node", field);

const filterArg = <Shape extends RunFilter>(type: PothosSchemaTypes.InputObjectRef<PothosTypes, Shape>) =>
  builder.args((t) => ({
    filter: t.field({
      type,
      description:
        "Filter, written in the query language of the server. Together with `query`, both are to be met.",
    }),
  }));

const EXPERIMENT_ARGS = builder.args((t) => ({
  ...filterArg(ExperimentFilter),
  orderByMetric: t.field({
    type: MetricOrder,
    description: "Order by a metric; not together with `orderBy`. Requires the capability `METRIC_ORDERS`.",
  }),
}));

/** The lists of runs of a project. */
export const EXPERIMENTS = {
  type: ExperimentConnection,
  target: Experiment,
  endpoint: optional.experiments,
  args: EXPERIMENT_ARGS,
};
export const JOBS = { type: JobConnection, target: Job, endpoint: optional.jobs, args: filterArg(JobFilter) };
export const BUILD_JOBS = {
  type: BuildJobConnection,
  target: BuildJob,
  endpoint: optional.builds,
  args: filterArg(BuildJobFilter),
};
export const GROUPS = {
  type: GroupConnection,
  target: Group,
  endpoint: optional.groups,
  args: filterArg(GroupFilter),
};

/**
 * A field with a list of runs of a project, or of another parent in it, such as a group:
 * `jobs: t.field(runList(JOBS, "Jobs of the project."))`. Its rows are partial records.
 */
export const runList = <
  R extends { readonly id: number },
  Args extends InputFieldMap,
  Of extends InProject & Address = InProject & Address,
>(
  { type, target, endpoint, args: ownArgs }: RunListKind<R, Args>,
  description: string,
  { groupOf, prefetchList }: ListOptions<Of> = {},
) => ({
  type,
  description: `${description} Requires the capability \`LISTS\`.`,
  args: {
    ...builder.args((t) => ({
      ...offsetArgs,
      orderBy: t.field({ type: RunOrder, description: "Order. Default: the order of the server." }),
      query: t.string({
        description:
          "Filter in the query language of the server, such as `status:running`. Forwarded unchanged.",
      }),
    })),
    ...ownArgs,
  },
  ...fieldsOf<object, Of>().child(
    async ({ address }, args: RunListArgs, context: Context, isSelected) => {
      const { session, names } = context;
      const { orderBy: order, orderByMetric: metricOrder, query } = args;
      if (order && metricOrder) {
        throw new InputError("orderByMetric: expected `orderBy` or `orderByMetric`, got both");
      }
      const { owner, project } = address;
      const { kind } = target;
      const conditions = conditionsOf(args.filter, { kind, project: { owner, project }, names });
      const group = groupOf?.(address);
      const base = session.server.listQuery({ group, order, metricOrder, conditions, query });
      const list = { endpoint, address, base };
      const request = sliceRequest(args, context);
      // A filter, or `first: 1`, may leave too few runs to be worth it.
      if (!query && conditions.length === 0 && request.first !== 1)
        prefetchList?.(address, context, (field) => isSelectedOfNodes(isSelected, field));
      const page = await slice(session, list, request);
      return connect(page, (record) => toResource(kind, { owner, project, id: `${record.id}` }, record));
    },
    // The service returns an empty list for a group that does not exist.
    ({ nodes, count }) => nodes.length > 0 || (count ?? 0) > 0,
  ),
});
