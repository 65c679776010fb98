import type { Scan } from "../../rest/session/scan.ts";
import { builder } from "../core/builder.ts";
import type { connectionOf } from "../core/connection.ts";

const ListScan = builder.objectRef<Scan>("ListScan").implement({
  description:
    "How much of a list the gateway has read, because it compares the rows itself with a part of the filter.",
  fields: (t) => ({
    rowsRead: t.exposeInt("rowsRead", {
      nullable: false,
      description:
        "Number of rows that were read for this page: those that match all of the filter that the server can compare.",
    }),
    isComplete: t.exposeBoolean("isComplete", {
      nullable: false,
      description:
        "Whether the scan has reached the end of the list. Otherwise more can match: it goes on behind `pageInfo.endCursor`.",
    }),
  }),
});

/** Adds the field `scan` to the connection of a list. */
export const addScan = (type: ReturnType<typeof connectionOf>): void =>
  builder.objectField(type, "scan", (t) =>
    t.field({
      type: ListScan,
      description:
        "The scan by which these items were found. Null when the server has compared all of the filter.",
      resolve: ({ scan }) => scan ?? null,
    }),
  );
