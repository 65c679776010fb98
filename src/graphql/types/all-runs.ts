import type { InputShapeFromFields } from "@pothos/core";
import { InputError } from "../../errors.ts";
import { runs } from "../../rest/api/kinds.ts";
import { millisecondsOf, valueAt } from "../../rest/api/record.ts";
import type { RunnableRecord } from "../../rest/api/records.ts";
import { readMerged } from "../../rest/session/merged-lists.ts";
import { arg, builder } from "../core/builder.ts";
import { connect, connectionOf, pageArgs, sliceRequest } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { requires } from "../core/ids.ts";
import type { ProjectAddress } from "../core/kinds.ts";
import { Project, Run } from "../core/refs.ts";
import { checkMembers, RunFilterInput } from "./run-filter.ts";
import { prepareList, provesParent, RunKind, runLists, RunOrder } from "./run-list.ts";

/* The runs of several kinds in a project. Servers list each kind separately, so the gateway merges the lists. */

const RunConnection = connectionOf(Run, "A page of runs of several kinds.", { isScanned: true });

const args = {
  kinds: arg.field({ type: [RunKind], description: "Their kinds. Default: all." }),
  filter: arg.field({
    type: RunFilterInput,
    description:
      "Conditions that the runs meet. A member that one of the kinds does not have is refused: narrow `kinds`.",
  }),
  order: arg.field({
    type: RunOrder,
    description:
      "By a time other than `DURATION`. Default: the latest creation first. Of equal times, the kinds come in the order of `RunKind`.",
  }),
  ...pageArgs,
};

type Args = InputShapeFromFields<typeof args>;

const LATEST: NonNullable<Args["order"]> = { by: { field: "CREATED_AT" }, direction: "DESC" };

async function readAllRuns(address: ProjectAddress, { kinds, order, ...given }: Args, context: Context) {
  const { session, gateway } = context;
  if (kinds?.length === 0) throw new InputError("kinds: expected at least one kind, got none");
  const lists = [...runLists].flatMap(([name, list]) => (kinds?.includes(name) === false ? [] : [list]));
  checkMembers(
    given.filter,
    lists.map(({ target }) => target.kind.run),
  );
  const { by, direction } = order ?? LATEST;
  if (by.field == null || by.field === "DURATION")
    throw new InputError(
      "order.by: expected a time by which the server sorts, such as CREATED_AT, because several kinds are merged by it",
    );
  const listArgs = { ...given, order: { by, direction } };
  const prepared = await Promise.all(
    lists.map((list) => prepareList({ list, address, listedIn: null }, listArgs, context)),
  );
  const key = by.field.toLowerCase();
  const sign = direction === "ASC" ? 1 : -1;
  // Known servers sort a run without this time as if it were the latest.
  const rankOf = (row: RunnableRecord): number => {
    const time = valueAt(row, key);
    const milliseconds = typeof time === "string" ? millisecondsOf(time) : Number.NaN;
    return sign * (Number.isNaN(milliseconds) ? Number.POSITIVE_INFINITY : milliseconds);
  };
  const page = await readMerged(
    session,
    prepared.map(({ listIn, scan }) => ({ list: listIn({}), find: scan?.find ?? null })),
    { ...sliceRequest(given, context), maxRows: gateway.maxScannedRows, rankOf },
  );
  // Safe: `part` is the index of the list from which the row comes.
  return connect(page, ({ item, part }) => prepared[part]?.toNode(item) as typeof Run.$inferType);
}

const { child } = fieldsOf<object, ProjectAddress>();

builder.objectField(Project, "runs", (t) =>
  t.field({
    type: RunConnection,
    args,
    ...child(
      `Runs of the project, of several kinds in one list by a time. A page takes one request for each kind whose list has not ended, of \`first\` rows; more where the service sends fewer at once, or for a scan.${requires(runs.job.optional.list)}`,
      ({ address }, given: Args, context: Context) => readAllRuns(address, given, context),
      provesParent,
    ),
  }),
);
