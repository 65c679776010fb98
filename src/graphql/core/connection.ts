import type { InputShapeFromFields, InterfaceRef, ObjectRef } from "@pothos/core";
import { LazyList } from "../../util/lazy-list.ts";
import { InputError } from "../../errors.ts";
import { notOffered } from "../../rest/api/endpoint.ts";
import {
  readLast,
  type Scan,
  type ScanRequest,
  type Slice,
  readSlice,
} from "../../rest/session/pagination.ts";
import type { List } from "../../rest/session/page-reader.ts";
import {
  arg,
  builder,
  computedFrom,
  objectType,
  type PothosTypes,
  exposed,
  exposedOrNull,
} from "./builder.ts";
import type { Context } from "./context.ts";

/* Relay connections. Pothos' Relay plugin is not used, because it defines its own type `Node` and its own global ids. */

/** A page of a list. Cursors are created only when they are selected, because a page has hundreds of items. */
export interface Connection<Node> extends Omit<Slice<unknown>, "items"> {
  readonly nodes: LazyList<Node>;
  /** Reads up to `most` rows from the start of the list. Absent for lists without the field `summary`. */
  readonly readAll?: (most: number) => Promise<WholeList<Node>>;
}

/** A list that was read from its start. `nodeAt` creates the node of a record when it is needed; null if there is no such record. */
export interface WholeList<Node, Item extends object = object> {
  readonly records: readonly Item[];
  readonly nodeAt: (index: number) => Node | null;
  /** Number of rows that were read, including those that do not match. */
  readonly scannedRows: number;
  /** Length of the list according to the service's count; null if it is unknown. */
  readonly total: number | null;
  readonly isComplete: boolean;
}

type Edge<Node> = Pick<Connection<Node>, "cursorAt"> & { readonly node: Node; readonly index: number };

const PageInfo = builder.objectRef<Connection<unknown>>("PageInfo").implement({
  description: "Position of a page in its list.",
  // Other subgraphs with Relay connections define `PageInfo` as well.
  extensions: { directives: { shareable: {} } },
  fields: (t) => ({
    hasNextPage: t.boolean(exposed("hasNext", "Whether more items follow.")),
    hasPreviousPage: t.boolean(exposed("hasPrevious", "Whether items come before the page.")),
    startCursor: t.string({
      description: "Cursor of the first item.",
      resolve: ({ nodes, cursorAt }) => (nodes.length > 0 ? cursorAt(0) : null),
    }),
    endCursor: t.string({
      description: "Cursor of the last item or, after a scan, of the position at which the scan continues.",
      resolve: ({ endCursor }) => endCursor(),
    }),
  }),
});

const ListScan = builder.objectRef<Scan>("ListScan").implement({
  description:
    "Where the server cannot apply all of a filter, the gateway reads rows of the list, at most `gateway.limits.maxScannedRows` for a page. A scan takes no `offset`.",
  fields: (t) => ({
    scannedRows: t.int(exposed("scannedRows", "Rows that were read for this page.")),
    isComplete: t.boolean(
      exposed("isComplete", "Whether the end of the list was reached. If not, continue after `endCursor`."),
    ),
  }),
});

/** Defines the connection type and the edge type of a node type: `StatusRecordConnection` and `StatusRecordEdge` for `StatusRecord`. */
export function connectionOf<
  Ref extends ObjectRef<PothosTypes, unknown> | InterfaceRef<PothosTypes, unknown>,
>(node: Ref, description: string, { isScanned = false } = {}) {
  const { name } = node;
  type Node = Ref["$inferType"];
  const EdgeType = objectType<Edge<Node>>(`${name}Edge`, "An item with its cursor.", (t) => ({
    cursor: t.field(computedFrom("String", "Cursor of the item.", ({ index, cursorAt }) => cursorAt(index))),
    // Safe: the node has the type of the ref. Pothos cannot infer this from a type parameter, here and in `nodes` below.
    node: t.field(computedFrom(node, "Item.", (edge) => edge.node as never)),
  }));
  return objectType<Connection<Node>>(`${name}Connection`, description, (t) => ({
    edges: t.field({
      type: [EdgeType],
      nullable: false,
      description: "Items, each with its cursor.",
      resolve: ({ nodes, cursorAt }) =>
        // Safe: Pothos expects an array, but the engine completes a `LazyList` like an array.
        new LazyList(nodes.length, (index) => ({ node: nodes.at(index), index, cursorAt })) as never,
    }),
    nodes: t.field(computedFrom([node], "Items.", ({ nodes }) => nodes as never)),
    pageInfo: t.field(computedFrom(PageInfo, "Position of the page.", (connection) => connection)),
    totalCount: t.int(
      exposedOrNull(
        "count",
        "Length of the whole list; null if the service does not count it, or until a scan has reached the end.",
      ),
    ),
    ...(isScanned && {
      scan: t.field({
        type: ListScan,
        ...exposedOrNull("scan", "Progress of the scan. Null if the server applied the whole filter."),
      }),
    }),
  }));
}

export const connect = <Item, Node>(
  { items, ...page }: Slice<Item>,
  toNode: (item: Item) => Node,
): Connection<Node> => ({
  // Safe: the index is below the length.
  nodes: new LazyList(items.length, (index) => toNode(items[index] as Item)),
  ...page,
});

export const pageArgs = {
  first: arg.int({
    description:
      "Number of items, 1 to `gateway.limits.maxPageSize`; a larger number is refused with `BAD_USER_INPUT`. Default: one page of the service.",
  }),
  after: arg.string({ description: "Cursor after which the page begins." }),
};

/** Page arguments with `offset`, for lists that clients show with page numbers. */
export const offsetArgs = {
  ...pageArgs,
  offset: arg.int({
    description: "Items to skip, for numbered pages. Not with `after` or a scan. Requires `OFFSETS`.",
  }),
};

export type PageArgs = InputShapeFromFields<typeof offsetArgs>;

/** Maximum offset. No list is that long. */
const MAX_OFFSET = 999_999_999;

/**
 * Converts page arguments to the request of a slice. Throws `InputError` for an invalid argument, and `GatewayError` for `offset` if the
 * server has no offsets.
 */
export function sliceRequest(
  { first = null, after = null, offset = null }: PageArgs,
  { gateway, session }: Pick<Context, "gateway" | "session">,
) {
  if (offset !== null) {
    if (session.server.profile.paging.by !== "offset") throw notOffered("pages at an offset", "OFFSETS");
    if (after !== null) throw new InputError("offset: expected `offset` or `after`, got both");
    within("offset", offset, { from: 0, to: MAX_OFFSET });
  }
  return {
    first: first === null ? null : within("first", first, { from: 1, to: gateway.maxPageSize }),
    maxSize: gateway.maxPageSize,
    after,
    offset,
  };
}

export const readConnection = async <At, Item, Node>(
  list: List<At, Item>,
  args: PageArgs,
  toNode: (item: Item) => Node,
  context: Context,
  scan: ScanRequest<Item> | null = null,
) => connect(await readSlice(context.session, list, sliceRequest(args, context), scan), toNode);

/** Page arguments that also select from the end of a list. */
export const bothWaysArgs = {
  ...pageArgs,
  last: arg.int({
    description:
      "Number of items from the end of the list, up to `gateway.limits.maxPageSize`. Their order is that of the list. Not with `first` or `after`.",
  }),
  before: arg.string({ description: "Cursor before which the page ends. Only with `last`." }),
};

/** Reads a page from the start or from the end of a list. Throws `InputError` if the arguments refer to both ends. */
export async function readBothWays<At, Item, Node>(
  list: List<At, Item>,
  { last, before = null, ...args }: InputShapeFromFields<typeof bothWaysArgs>,
  toNode: (item: Item) => Node,
  context: Context,
): Promise<Connection<Node>> {
  if (last == null) {
    if (before !== null) throw new InputError("before: expected `last` with it, got none");
    return readConnection(list, args, toNode, context);
  }
  if (args.first != null || args.after != null)
    throw new InputError("last: expected neither `first` nor `after` with it");
  const { maxPageSize: maxSize } = context.gateway;
  within("last", last, { from: 1, to: maxSize });
  return connect(await readLast(context.session, list, { last, before, maxSize }), toNode);
}

/** Maximum number of ids in one argument. */
export const MAX_IDS = 100;

/** Returns `value`. Throws `InputError` unless it is within the inclusive bounds. */
export function within(argument: string, value: number, { from, to }: { from: number; to: number }): number {
  if (value >= from && value <= to) return value;
  throw new InputError(`${argument}: expected ${from} to ${to}, got ${value}`);
}
