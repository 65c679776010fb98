import { builder } from "../core/builder.ts";
import { type Connection, type WholeList, within } from "../core/connection.ts";
import { Experiment } from "../core/refs.ts";
import { runListOf } from "../types/run-list.ts";
import { MAX_SCAN, type Runs, RunSummary } from "./run-summary.ts";
import { type Row, RunTable } from "./run-table.ts";

/*
 * The field `summary` of lists of experiments.
 */

type ExperimentResource = typeof Experiment.$inferType;
type ReadAll = NonNullable<Connection<ExperimentResource>["readAll"]>;

/** The runs of lists that were read as a whole, by what reads them and by `scan`: their figures are made from one reading. */
const whole = new WeakMap<ReadAll, Map<number, Promise<Runs>>>();

function runsOf(readAll: ReadAll, most: number): Promise<Runs> {
  const known = whole.get(readAll) ?? new Map<number, Promise<Runs>>();
  whole.set(readAll, known);
  const runs = known.get(most) ?? readAll(most).then(withTable);
  known.set(most, runs);
  return runs;
}

const withTable = (all: WholeList<ExperimentResource>): Runs => ({
  ...all,
  // Safe: the records are those of experiments.
  table: new RunTable(all.records as readonly Row[]),
});

builder.objectField(runListOf(Experiment.kind).type, "summary", (t) =>
  t.field({
    type: RunSummary,
    description:
      "Figures over all runs of the list, not only this page. Reads the list in pages, one request each.",
    args: {
      scan: t.arg.int({
        required: true,
        defaultValue: 1_000,
        description: `Maximum number of runs to read, up to ${MAX_SCAN}.`,
      }),
    },
    resolve: ({ readAll }, { scan }) => {
      const most = within("scan", scan, { from: 1, to: MAX_SCAN });
      if (!readAll) throw new TypeError("expected a list that can be read as a whole");
      // Safe: the list is one of experiments.
      return runsOf(readAll as ReadAll, most);
    },
  }),
);
