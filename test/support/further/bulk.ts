import { never, type RecordedRow } from "../recorded-rows.ts";

const AFTER_READ = never(
  "the gateway reads first which of them exist, and that was not recorded: `commands/many.test.ts` sends the same request",
);
const NO_IDS = never("a mutation without ids is refused before anything is sent");
const NO_SUCH = never("the server has no such command for these runs, and the gateway no mutation");

/** Lines 77 to 90: commands for several runs. */
export const BULK_ROWS: Readonly<Record<string, RecordedRow>> = {
  "stop many": AFTER_READ,
  "stop many of nothing": NO_IDS,
  "stop many (79)": NO_SUCH,
  "stop many of nothing (80)": NO_SUCH,
  "stop many (81)": NO_SUCH,
  "stop many of nothing (82)": NO_SUCH,
  "stop many (83)": NO_SUCH,
  "stop many of nothing (84)": NO_SUCH,
  "stop many without ids": NO_IDS,
  "stop many with nonsense": never("ids that are none are refused, and those of no experiment are not sent"),
  "delete many": AFTER_READ,
  "one of them": {
    document: `{ thing: experiment(id: "alice.mnist.20") { uuid } }`,
    told: () => null,
    refused: { at: "thing", data: null },
  },
  "delete many jobs": NO_SUCH,
  "delete many builds": NO_SUCH,
};
