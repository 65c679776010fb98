import type { InputShapeFromFields } from "@pothos/core";
import { InputError } from "../../errors.ts";
import type { Condition } from "../../rest/api/list-query.ts";
import { capital, type RunKind as Row } from "../../rest/api/kind.ts";
import { listOf } from "../../rest/api/kinds.ts";
import { type Slice, slice } from "../../rest/session/pages.ts";
import type { ExperimentRecord, RunnableRecord } from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import type { IsSelected } from "../../engine/field-source.ts";
import { builder } from "../core/builder.ts";
import {
  connect,
  type Connection,
  connectionOf,
  offsetArgs,
  sliceRequest,
  type WholeList,
} from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { type Address, type Kind, type Resource, toResource } from "../core/resource.ts";
import type { ProjectAddress } from "../core/kinds.ts";
import { quote, requires } from "../core/ids.ts";
import { runRefs } from "../core/refs.ts";
import { addScan, both, finding, type IsMatch, readWhole, scanPage } from "./list-scan.ts";
import { checkGroups, divide, groupsInFilter } from "./run-filter.ts";
import { orderOf, RunFilterInput, RunOrder } from "./run-list-inputs.ts";

/*
 * Lists of runs. They are not in the service's document, but frontends need them. The fields are always in the schema, so
 * that generated code and composition do not depend on the deployment.
 */

/** The kinds of run that servers list, by their names in `RunKind`: `BUILD_JOB` for `BuildJob`. */
export const RUN_KINDS = new Map(
  runRefs
    .filter(({ kind: { run } }) => listOf(run))
    .map(({ kind }) => [kind.name.replaceAll(/(?!^)[A-Z]/g, "_$&").toUpperCase(), kind]),
);

export const RunKind = builder.enumType("RunKind", {
  description: "A kind of run.",
  values: Object.fromEntries(
    [...RUN_KINDS].map(([name, { run }]) => [
      name,
      { description: `${capital(run.manyInFull ?? run.many)}.` },
    ]),
  ),
});

/** The kind of run with this name in `RunKind`. */
export function runKindNamed(name: string) {
  const kind = RUN_KINDS.get(name);
  if (!kind) throw new TypeError(`expected a kind of run, got ${name}`);
  return kind;
}

/** What narrows a list besides its arguments. */
interface Narrowing {
  /** What the server compares. */
  readonly conditions: readonly Condition[];
  /** What the gateway compares. */
  readonly isMatch?: IsMatch;
  /** Tells it from others in cursors. */
  readonly name: string;
}

interface ListOptions<Of> {
  /** What the runs of the list have in common. */
  readonly narrowedTo?: (address: Of, context: Context) => Narrowing;
  /** The group to which the list is restricted. */
  readonly groupOf?: (address: Of) => RunAddress;
  /** Prefetches a list that the runs need, before the runs are loaded. */
  readonly prefetchList?: (address: Of, context: Context, isSelected: (field: string) => boolean) => void;
}

const isSelectedOfNodes = (isSelected: IsSelected, field: string): boolean =>
  isSelected("nodes", field) || isSelected("edges", "node", field);

/** The fields of a page of the list, as opposed to those of the whole list. */
const OF_PAGES = ["nodes", "edges", "pageInfo", "totalCount", "scan"];

const hasMetrics = ({ keys }: Pick<Row, "keys">) => keys.includes("last_metric");

/** The arguments of lists of runs. */
const listArgs = builder.args((t) => ({
  ...offsetArgs,
  order: t.field({ type: RunOrder, description: "Default: the server's own order." }),
  filter: t.field({ type: RunFilterInput, description: "Conditions that the runs meet." }),
  query: t.string({
    description: "Filter in the server's own language, such as `metric.loss:<0.2`, in addition to `filter`.",
  }),
}));

export type RunListArgs = InputShapeFromFields<typeof listArgs>;

/** The lists of all kinds of run that servers list. */
export const runLists = runRefs.flatMap((target) => {
  const { run } = target.kind;
  const endpoint = listOf(run);
  if (!endpoint) return [];
  const type = connectionOf(target, `A page of ${run.many}.`);
  addScan(type);
  return [{ target, endpoint, type }];
});

/** The lists of a kind of run. Throws for one that is not listed. */
export function runListOf({ name }: Pick<Kind, "name">): RunListKind {
  const list = runLists.find(({ target }) => target.kind.name === name);
  if (!list) throw new TypeError(`expected a kind of run with lists, got ${name}`);
  return list;
}

type RunListKind = (typeof runLists)[number];

/** A list of runs that is read: its kind, the address of its parent, and the group to which it is restricted. */
interface ReadList {
  readonly list: RunListKind;
  readonly address: ProjectAddress;
  readonly listedIn: RunAddress | null;
  readonly narrowing?: Narrowing;
  /** Prefetches what the runs need, where there may be enough of them. */
  readonly prefetch?: () => void;
  /** Whether of the list nothing is wanted but figures over all of it. */
  readonly isOnlySummary?: boolean;
}

/** Reads a part of a list of runs. Its rows are partial records. */
export async function readRuns(
  { list: { target, endpoint }, address, listedIn, narrowing, prefetch, isOnlySummary = false }: ReadList,
  args: RunListArgs,
  context: Context,
): Promise<Connection<Resource<RunnableRecord, RunAddress>>> {
  const { session } = context;
  const { query } = args;
  const { order, metricOrder } = orderOf(args.order);
  const { owner, project } = address;
  const { kind } = target;
  if (metricOrder && !hasMetrics(kind.run))
    throw new InputError(
      `order.metric: expected for a list of experiments only, got it for ${kind.run.many}`,
    );
  const filter = divide(args.filter, { kind, project: { owner, project } }, session.server);
  const conditions = [...(narrowing?.conditions ?? []), ...filter.conditions];
  const asked = { group: listedIn?.id, order, metricOrder, conditions, query };
  const groups = groupsInFilter(session.server, asked);
  if (groups.length > 0) await checkGroups(groups, { owner, project }, context);
  session.server.offered(endpoint);
  const narrowed = JSON.stringify([narrowing?.name, filter.isMatch && args.filter]);
  const ordered = { endpoint, address, base: session.server.listQuery(asked), narrowing: narrowed };
  const given = sliceRequest(args, context);
  const { maxSize } = given;
  // The first page that the figures read.
  const request = isOnlySummary ? { first: maxSize, maxSize, after: null, offset: 0 } : given;
  const toNode = (record: RunnableRecord) => ({
    ...toResource(kind, { owner, project, id: `${record.id}` }, record),
    listedIn,
  });
  const isMatch = both(filter.isMatch, narrowing?.isMatch ?? null);
  const compared = [...filter.compared, ...(narrowing?.isMatch ? [narrowing.name] : [])];
  const find = isMatch && finding<RunnableRecord>(isMatch, compared, args, context);
  // The order of creation is stable; figures depend on none.
  const isStable = !metricOrder && session.server.profile.orders.CREATED_ASC;
  const whole = isStable
    ? { ...ordered, base: session.server.listQuery({ ...asked, order: "CREATED_ASC" }) }
    : ordered;
  const readAll = async (most: number): Promise<WholeList<Resource<RunnableRecord, RunAddress>>> => {
    const all = await readWhole(session, whole, { most, maxSize, find });
    return { ...all, nodeAt: (index) => all.records.slice(index, index + 1).map(toNode)[0] ?? null };
  };
  const list = isOnlySummary ? whole : ordered;
  const readRest = () => {
    const base = session.server.listQuery({ ...asked, metricOrder: null });
    return slice(session, { ...ordered, base }, { ...given, first: 1, offset: 0 });
  };
  if (find) {
    let rowsRead: readonly RunnableRecord[] = [];
    const findIn: typeof find = (rows) => {
      if (rowsRead.length === 0) rowsRead = rows;
      return find(rows);
    };
    const scanned = await scanPage(list, findIn, request, toNode, context);
    if (metricOrder && request.after === null) await requireMetric(metricOrder, rowsRead, readRest);
    return { ...scanned, readAll };
  }
  // A filter, or `first: 1`, may leave too few runs to be worth it.
  if (!query && conditions.length === 0 && request.first !== 1) prefetch?.();
  const page = await slice(session, list, request);
  if (metricOrder && given.after === null && (given.offset === 0 || page.count === 0))
    await requireMetric(metricOrder, page.items, readRest);
  return { ...connect(page, toNode), scan: null, readAll };
}

/**
 * Throws `InputError` where no experiment of the list has the metric that orders it: largest first, the list is empty although
 * there are experiments; smallest first, those without the metric come first.
 */
async function requireMetric(
  { name }: { readonly name: string },
  [first]: readonly RunnableRecord[],
  readRest: () => Promise<Slice<RunnableRecord>>,
): Promise<void> {
  const { last_metric: metrics }: Partial<ExperimentRecord> = first ?? {};
  if (first && (metrics === undefined || (metrics && Object.hasOwn(metrics, name)))) return;
  if (!first && (await readRest()).items.length === 0) return;
  throw new InputError(
    `order.metric: expected a metric of the list, got ${quote(name)}, which no experiment has`,
  );
}

/** A field with a list of runs of a project, or of another parent in it, such as a group. Its rows are partial records. */
export const runList = <Of extends ProjectAddress & Address = ProjectAddress>(
  list: RunListKind,
  description: string,
  { groupOf, narrowedTo, prefetchList }: ListOptions<Of> = {},
) => ({
  type: list.type,
  description: description + requires(list.endpoint),
  args: listArgs,
  ...fieldsOf<object, Of>().child(
    ({ address }, args: RunListArgs, context: Context, isSelected) => {
      const prefetch = () =>
        prefetchList?.(address, context, (field) => isSelectedOfNodes(isSelected, field));
      const listedIn = groupOf?.(address) ?? null;
      const narrowing = narrowedTo?.(address, context);
      const isOnlySummary = isSelected("summary") && !OF_PAGES.some((field) => isSelected(field));
      const read = { list, address, listedIn, prefetch, isOnlySummary, ...(narrowing && { narrowing }) };
      return readRuns(read, args, context);
    },
    // The service returns an empty list for a group that does not exist.
    ({ nodes, count, scan }) => nodes.length > 0 || Math.max(count ?? 0, scan?.rowsRead ?? 0) > 0,
  ),
});
