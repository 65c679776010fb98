import { InputError } from "../../errors.ts";
import type { SliceRequest } from "../../rest/session/pages.ts";
import { type Scan, scanList } from "../../rest/session/scan.ts";
import type { List } from "../../rest/session/steps.ts";
import { builder } from "../core/builder.ts";
import { connect, type Connection, type connectionOf, type PageArgs } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import type { FindRows } from "./find-rows.ts";

const ListScan = builder.objectRef<Scan>("ListScan").implement({
  description:
    "Where the server cannot apply all of a filter, the gateway reads rows of the list, at most `gateway.limits.maxScannedRows` for a page. A scan takes no `offset`.",
  fields: (t) => ({
    rowsRead: t.exposeInt("rowsRead", { nullable: false, description: "Rows that were read for this page." }),
    isComplete: t.exposeBoolean("isComplete", {
      nullable: false,
      description: "Whether the end of the list was reached. Otherwise continue after `pageInfo.endCursor`.",
    }),
  }),
});

type Find<Row> = (rows: readonly Row[]) => Promise<readonly number[]>;

/** Finds rows in time slices. Throws `InputError` for an offset, which a scan does not have. */
export function finding<Row extends object>(
  find: FindRows,
  { offset }: PageArgs,
  context: Context,
): Find<Row> {
  if (offset != null) throw new InputError("offset: expected none where the gateway scans the list");
  return (rows) => context.inTurns(find(rows));
}

/** Reads a page of the rows of a list that are found. */
export async function scanPage<At, Row, Node>(
  list: List<At, Row>,
  find: Find<Row>,
  request: SliceRequest,
  toNode: (row: Row) => Node,
  { session, gateway }: Context,
): Promise<Connection<Node>> {
  const page = await scanList(session, list, { ...request, maxRows: gateway.maxScannedRows, find });
  return { ...connect(page, toNode), endCursor: () => page.endCursor, scan: page.scan };
}

/** Adds the field `scan` to the connection of a list. */
export const addScan = (type: ReturnType<typeof connectionOf>): void =>
  builder.objectField(type, "scan", (t) =>
    t.field({
      type: ListScan,
      description: "How far the gateway read to filter. Null where the server did all of it.",
      resolve: ({ scan }) => scan ?? null,
    }),
  );
