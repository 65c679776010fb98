import type { InputShapeFromFields } from "@pothos/core";
import { capital, listOf, type RunKind as Row, runs } from "../../rest/api/kinds.ts";
import type { Condition, ListRequest } from "../../rest/api/list-query.ts";
import type { MetricDirection, Order } from "../../rest/api/profile.ts";
import type { ExperimentRecord, RunnableRecord } from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { type Slice, readSlice, sorting } from "../../rest/session/pagination.ts";
import { arg, builder, enumType } from "../core/builder.ts";
import { connect, type Connection, connectionOf, offsetArgs, sliceRequest } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { requires } from "../core/ids.ts";
import type { ProjectAddress } from "../core/kinds.ts";
import { type RunRef, runRefs, type RunResource } from "../core/refs.ts";
import { type Address, toResource } from "../core/resource.ts";
import {
  byDuration,
  byParameter,
  missingName,
  requireSortKeys,
  type SortKey,
  sortedRows,
} from "./gateway-order.ts";
import { both, scanFor, type IsMatch, readEntireList } from "./scan.ts";
import { checkGroups, checkKinds, divide, RunFilterInput } from "./run-filter.ts";

/*
 * Lists of runs. The service's document does not describe them, so a server may lack them. The fields are in the schema nevertheless, so
 * that generated code and composition do not depend on the deployment.
 */

/** A kind of run that servers list, the endpoint of the list, and its connection type. */
type RunListKind = ReturnType<typeof listsOf>[number];

const listsOf = (target: RunRef) => {
  const { run } = target.kind;
  const { many, manyInFull } = run;
  const endpoint = listOf(run);
  if (!endpoint) return [];
  const type = connectionOf(target, `A page of ${many}.`, { isScanned: true });
  return [{ target, endpoint, type, many: manyInFull ?? many }];
};

/** The lists of all kinds of run, by the value in `RunKind`: `BUILD_JOB` for `BuildJob`. */
export const runLists: ReadonlyMap<string, RunListKind> = new Map(
  runRefs
    .flatMap(listsOf)
    .map((list) => [list.target.kind.name.replaceAll(/(?!^)[A-Z]/g, "_$&").toUpperCase(), list]),
);

/**
 * Returns the list of one kind. `name` is the name of the kind (`BuildJob`) or its value in `RunKind` (`BUILD_JOB`). Throws `TypeError` if
 * the kind has no list.
 */
export function runListOf(name: string): RunListKind {
  const list = runLists.get(name) ?? [...runLists.values()].find(({ target }) => target.kind.name === name);
  if (!list) throw new TypeError(`expected a kind of run with lists, got ${name}`);
  return list;
}

export const RunKind = enumType(
  "RunKind",
  "A kind of run.",
  Object.fromEntries([...runLists].map(([name, { many }]) => [name, `${capital(many)}.`])),
);

export const OrderDirection = enumType("OrderDirection", "Direction of an order.", {
  ASC: "Smallest or earliest first.",
  DESC: "Largest or latest first.",
} satisfies Record<MetricDirection, string>);

const RunOrderField = enumType(
  "RunOrderField",
  "A time by which runs are ordered. Known servers sort a run without it as the latest: first by `DESC`, last by `ASC`.",
  {
    CREATED_AT: "Creation.",
    UPDATED_AT: "Last change.",
    STARTED_AT: "Start.",
    FINISHED_AT: "End.",
    DURATION:
      "Time from the start to the end, or until now. The gateway sorts the list: see `RunOrder`. Runs without a duration are omitted.",
  },
);

/** The prefixes of the server's orders: `CREATED` of `CREATED_ASC`. */
const ORDERS = {
  CREATED_AT: "CREATED",
  UPDATED_AT: "UPDATED",
  STARTED_AT: "STARTED",
  FINISHED_AT: "FINISHED",
} as const;

const RunOrderKey = builder.inputType("RunOrderKey", {
  description: "The key of an order: a time, a metric or a parameter.",
  isOneOf: true,
  fields: (t) => ({
    field: t.field({ type: RunOrderField, description: "A time." }),
    metric: t.string({
      description:
        "Name of a metric: letters, digits, `-`, single `_`. Its latest values are compared. Experiments without a numeric value are omitted. Requires `METRIC_ORDERS`.",
    }),
    parameter: t.string({
      description:
        "Name of a parameter, numbers before strings. The gateway sorts the list: see `RunOrder`. Experiments whose value is neither a number nor a string are omitted. If no experiment has the parameter, the error is `BAD_USER_INPUT`.",
    }),
  }),
});

export const RunOrder = builder.inputType("RunOrder", {
  description:
    "An order of runs. By `DURATION` and by a parameter the gateway sorts the list itself: each page reads the whole list, one request for each page of the service, and a list above `gateway.limits.maxScannedRows` is `BAD_USER_INPUT`.",
  fields: (t) => ({
    by: t.field({
      type: RunOrderKey,
      required: true,
      description: "The compared key, such as `{ field: CREATED_AT }`.",
    }),
    direction: t.field({
      type: OrderDirection,
      required: true,
      defaultValue: "DESC",
      description: "Direction.",
    }),
  }),
});

/** The order of a list. At most one property is set: the server sorts by `order` or `metricOrder`, the gateway by `sort`. */
interface ListOrder extends Pick<ListRequest, "order" | "metricOrder"> {
  readonly sort?: SortKey;
}

/** Converts the argument `order`. Throws `InputError` for a key that this kind of run lacks. */
function orderOf(given: typeof RunOrder.$inferInput | null | undefined, run: Row): ListOrder {
  if (!given) return {};
  const { by, direction } = given;
  if (by.metric != null) {
    checkKinds("order.by.metric", "last_metric", [run]);
    return { metricOrder: { name: by.metric, direction } };
  }
  if (by.parameter != null) {
    checkKinds("order.by.parameter", "declarations", [run]);
    return { sort: byParameter(by.parameter, direction) };
  }
  // `field` is set, because the input has exactly one key.
  if (by.field == null || by.field === "DURATION") return { sort: byDuration(direction) };
  return { order: `${ORDERS[by.field]}_${direction}` satisfies Order };
}

/** The arguments of a list that determine its runs. */
export const selectionArgs = {
  filter: arg.field({ type: RunFilterInput, description: "Conditions that the runs meet." }),
  query: arg.string({
    description: "Filter in the server's own language, such as `metric.loss:<0.2`, in addition to `filter`.",
  }),
};

const listArgs = {
  ...offsetArgs,
  order: arg.field({ type: RunOrder, description: "Default: the server's own order." }),
  ...selectionArgs,
};

export type RunListArgs = InputShapeFromFields<typeof listArgs>;

/** A restriction of a list in addition to its arguments. */
interface Narrowing {
  /** The conditions that the server tests. */
  readonly conditions: readonly Condition[];
  /** The test that the gateway itself applies. */
  readonly isMatch?: IsMatch;
  /** Identifies the restriction in cursors. */
  readonly name: string;
}

interface ListOptions<Of> {
  /** Restricts the list to some runs. */
  readonly narrowedTo?: (address: Of, context: Context) => Narrowing;
  /** The group to which the list is restricted. */
  readonly groupOf?: (address: Of) => RunAddress;
}

/** A request for a list of runs. `listedIn` is the group to which the list is restricted; null for all runs of the project. */
interface ReadList {
  readonly list: RunListKind;
  readonly address: ProjectAddress;
  readonly listedIn: RunAddress | null;
  readonly narrowing?: Narrowing | undefined;
  /** Prefetches the metrics of all runs. Called if the list may have enough runs to make this worthwhile. */
  readonly prefetch?: () => void;
  /** Whether only statistics over the whole list are selected. */
  readonly isOnlySummary?: boolean;
}

/**
 * Converts the arguments of a list: to the list that the server returns, and to the scan and the order that the gateway applies itself.
 * Reads the groups in the filter. Rejects with `InputError` for arguments that this kind of run does not support, and with `GatewayError`
 * for arguments that the server does not support.
 */
export async function prepareList(
  { list: { target, endpoint }, address, listedIn, narrowing }: Omit<ReadList, "prefetch" | "isOnlySummary">,
  args: RunListArgs,
  context: Context,
) {
  const { server } = context;
  const { query } = args;
  const { kind } = target;
  const { order, metricOrder, sort } = orderOf(args.order, kind.run);
  const at = { owner: address.owner, project: address.project };
  const filter = divide(args.filter, { kind, project: at }, server);
  const conditions = [...(narrowing?.conditions ?? []), ...filter.conditions];
  const listRequest = { group: listedIn?.id, order, metricOrder, conditions, query };
  const checks = checkGroups(listRequest, at, context);
  if (checks.length > 0) await Promise.all(checks);
  server.supported(endpoint);
  if (sort) requireSortKeys(sort, server, kind.run.records);
  // Without a sort, the fingerprint is that of 1.0, so that its cursors remain valid.
  const marked = JSON.stringify([
    narrowing?.name,
    filter.isMatch && args.filter,
    ...(sort ? [args.order] : []),
  ]);
  const isMatch = both(filter.isMatch, narrowing?.isMatch ?? null);
  const compared = [...filter.compared, ...(narrowing?.isMatch ? [narrowing.name] : [])];
  return {
    metricOrder,
    sort,
    listIn: (other: Partial<ListRequest>) => ({
      endpoint,
      address,
      base: server.listQuery({ ...listRequest, ...other }),
      sortedBy: server.sortKeys({ ...listRequest, ...other }),
      narrowing: marked,
    }),
    toNode: (record: RunnableRecord) => toResource(kind, { ...at, id: `${record.id}` }, record, listedIn),
    scan: isMatch && scanFor<RunnableRecord>(isMatch, compared, args, context),
    isFiltered: isMatch !== null || Boolean(query) || conditions.length > 0,
  };
}

export async function readRuns(
  { prefetch, isOnlySummary = false, ...read }: ReadList,
  args: RunListArgs,
  context: Context,
): Promise<Connection<RunResource>> {
  const { session, server, gateway } = context;
  const { metricOrder, sort, listIn, toNode, scan, isFiltered } = await prepareList(read, args, context);
  // A whole list is read in the order of creation, because runs do not change their positions in it. Statistics do not depend on the order.
  const isStable = !metricOrder && server.profile.orders.CREATED_ASC;
  const ordered = listIn({});
  const whole = isStable ? listIn({ order: "CREATED_ASC" }) : ordered;
  const given = sliceRequest(args, context);
  const { maxSize } = given;
  // If only statistics are selected, this is the first page that they read, so that its response is shared.
  const request = isOnlySummary ? { first: maxSize, maxSize, after: null } : given;
  // With a filter or `first: 1`, the list may have too few runs to make a prefetch worthwhile.
  if (!isFiltered && request.first !== 1) prefetch?.();
  const readWhole = (most: number) => readEntireList(context, whole, most, scan?.find);
  const readAll = async (most: number) => {
    const all = await readWhole(most);
    const nodeAt = (index: number) => all.records.slice(index, index + 1).map(toNode)[0] ?? null;
    return { ...all, nodeAt };
  };
  if (sort && !isOnlySummary) {
    const { sortedAt, pageOf } = sorting(ordered, given, server.profile.paging);
    const begun = Date.now();
    const all = await readWhole(gateway.maxScannedRows);
    // The time at which the read began: a run that is active in the response had not ended then.
    const now = sortedAt ?? Math.round(session.upstreamTime() - (Date.now() - begun));
    const rows = await sortedRows(all, sort, now, context);
    return { ...connect(pageOf(rows, all.scannedRows, now), toNode), readAll };
  }
  let first: RunnableRecord | undefined;
  const seeing = scan && {
    ...scan,
    find: (rows: readonly RunnableRecord[]) => {
      first ??= rows[0];
      return scan.find(rows);
    },
  };
  const page = await readSlice(session, isOnlySummary ? whole : ordered, request, seeing);
  first ??= page.items[0];
  if (metricOrder && given.after === null && (!given.offset || page.count === 0)) {
    const readRest = () =>
      readSlice(session, listIn({ metricOrder: null }), { ...given, first: 1, offset: null });
    await requireMetric(metricOrder, first, readRest);
  }
  return { ...connect(page, toNode), readAll };
}

/**
 * Rejects with `InputError` if no experiment of the list has the metric by which the list is sorted. Without this check, a misspelt name
 * would give an empty list (`DESC`) or a list of experiments without the metric (`ASC`).
 */
async function requireMetric(
  { name }: { readonly name: string },
  first: RunnableRecord | undefined,
  readRest: () => Promise<Slice<RunnableRecord>>,
): Promise<void> {
  const { last_metric: metrics }: Partial<ExperimentRecord> = first ?? {};
  if (first && (metrics === undefined || (metrics && Object.hasOwn(metrics, name)))) return;
  const known: Partial<ExperimentRecord>[] = first ? [first] : [...(await readRest()).items];
  if (known.length > 0) throw missingName("order.by.metric", "metric", name, known[0]?.last_metric);
}

/** The fields of experiments that read metrics. One request returns the metrics of all experiments of a group. */
const OF_METRICS = ["metrics", "metricSeries", "metricSummaries"];

/** The fields that show a page of the list, not the whole list. */
const OF_PAGES = ["nodes", "edges", "pageInfo", "totalCount", "scan"];

/** Whether a list proves that its parent exists. An empty list does not: the service returns one for a group that does not exist. */
export const provesParent = ({ nodes, count, scan }: Connection<unknown>): boolean =>
  nodes.length > 0 || Math.max(count ?? 0, scan?.scannedRows ?? 0) > 0;

/**
 * A field with a list of runs of a project, or of another parent in a project, such as a group. List items lack some keys of the records.
 */
export const runList = <Of extends ProjectAddress & Address = ProjectAddress>(
  target: { readonly name: string },
  description: string,
  { groupOf, narrowedTo }: ListOptions<Of> = {},
) => {
  const list = runListOf(target.name);
  return {
    type: list.type,
    args: listArgs,
    ...fieldsOf<object, Of>().child(
      description + requires(list.endpoint),
      ({ address }, args: RunListArgs, context: Context, isSelected) => {
        const listedIn = groupOf?.(address) ?? null;
        const isOfNodes = (field: string) => isSelected("nodes", field) || isSelected("edges", "node", field);
        const read = {
          list,
          address,
          listedIn,
          narrowing: narrowedTo?.(address, context),
          prefetch: () => {
            if (!listedIn || !OF_METRICS.some(isOfNodes)) return;
            const { metrics } = runs.experiment.endpoints;
            context.session.prefetchList(metrics, { at: listedIn, group: listedIn });
          },
          isOnlySummary: isSelected("summary") && !OF_PAGES.some((field) => isSelected(field)),
        };
        return readRuns(read, args, context);
      },
      provesParent,
    ),
  };
};
