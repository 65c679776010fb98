import { inProject } from "../beyond-rows.ts";
import { never, type RecordedRow } from "../recorded-rows.ts";

const NOT_SO = "the gateway sends every order with `-created_at` as its second key";
const IGNORED = "the server ignores a key `-id`, so that the gateway does not send it";

/** Orders by two keys. */
export const ORDER_ROWS: Readonly<Record<string, RecordedRow>> = {
  "two sort keys": inProject("experiments", "first: 4, orderBy: FINISHED_DESC"),
  "two sort keys (2)": never(NOT_SO),
  "two sort keys (3)": inProject("experiments", "first: 4, orderBy: STARTED_DESC"),
  "two sort keys (4)": inProject("experiments", "first: 4, orderBy: UPDATED_DESC"),
  "two sort keys (5)": never("the runs without a metric, which come first, are left out"),
  "two sort keys (6)": never(IGNORED),
  "two sort keys (7)": never(IGNORED),
  "two sort keys (8)": never("the server ignores this order"),
  "two sort keys (9)": inProject("jobs", "first: 4, orderBy: FINISHED_DESC"),
  "two sort keys (10)": inProject("builds", "first: 4, orderBy: FINISHED_DESC"),
  "two sort keys (11)": inProject("groups", "first: 4, orderBy: FINISHED_DESC"),
};
