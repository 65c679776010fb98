import type { InputShapeFromFields } from "@pothos/core";
import { InputError, BatchItemError, GatewayError } from "../../errors.ts";
import { type Command, notOffered } from "../../rest/api/endpoint.ts";
import { type RunKind as Row, runs } from "../../rest/api/kinds.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { arg, builder, computedFrom, enumType, objectType, root } from "../core/builder.ts";
import { MAX_IDS } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { ANY_KIND, findRun, resolveRunId, idOf, requires } from "../core/ids.ts";
import { kindsByName, type ProjectAddress } from "../core/kinds.ts";
import { Experiment, Run, type RunResource } from "../core/refs.ts";
import { load, toResource } from "../core/resource.ts";
import { withKeys } from "../core/fields.ts";
import {
  archiveArg,
  ARCHIVES,
  bookmarkArg,
  ifShown,
  ifUuidArg,
  isNamedInFull,
  readBefore,
  requireUuid,
  sendFor,
} from "../core/mutations.ts";
import { type Commanded, forceArg, hasFinished, readFresh, STOPS } from "./run-mutations.ts";

/*
 * Root fields for runs of any kind: the look-up, and for each command that all kinds have a mutation of several, of which some can
 * fail.
 */

/** The outcome of one command: a result, or the error of the service. */
type Outcome<Result> = Result | GatewayError;
type Outcomes = readonly Outcome<Commanded>[];

interface ManyCommand {
  readonly endpointOf: (row: Row) => Command<RunAddress, undefined> | undefined;
  /** The command for several experiments of a project, which takes one request. */
  readonly forMany?: Command<ProjectAddress, undefined, readonly string[]>;
  /** Whether a run is left as it is. Without it none need be read. */
  readonly isLeft?: ((run: RunResource) => boolean) | undefined;
  /** The `uuid` that the run must have. */
  readonly ifUuid?: string | null | undefined;
  /** The keys that are selected of a run, where it is read before because the command hides it. */
  readonly keys?: readonly string[] | undefined;
  /** A run after the command, of what was read before; null when it is not shown. Without it only the address is still true. */
  readonly after?: (run: RunResource) => Promise<RunResource | null>;
}

// Safe: the kind is that of a run.
const unread = async ({ kind, address }: RunResource) =>
  toResource(kindsByName.get(kind.name) ?? kind, address) as RunResource;

/** The keys of those that are selected which records of a kind of run have. */
function ownOf({ kind: { run } }: RunResource, keys: readonly string[]): readonly string[] {
  const own = new Set(run?.keys);
  return keys.filter((key) => own.has(key));
}

/** The endpoint of a command for a run. Throws `GatewayError` for a kind without it. */
function endpointFor({ kind: { run } }: RunResource, { endpointOf }: ManyCommand, { server }: Context) {
  const endpoint = run && endpointOf(run);
  if (!endpoint) throw notOffered("this for such a run");
  server.supported(endpoint);
  return endpoint;
}

const orError = <Value>(promise: Promise<Value>): Promise<Outcome<Value>> =>
  promise.catch((error: unknown) => {
    if (error instanceof GatewayError) return error;
    throw error;
  });

/** The different runs that are named. The experiments of a project are together where the service has a command for many. */
function groupsOf(named: readonly RunResource[], { forMany }: ManyCommand, { server }: Context) {
  const groups = new Map<string, RunResource[]>();
  for (const [id, run] of new Map(named.map((each) => [idOf(each), each]))) {
    const { owner, project } = run.address;
    const isOfMany = run.kind.name === Experiment.kind.name && forMany && server.override(forMany);
    const key = isOfMany ? `${owner}/${project}` : id;
    groups.set(key, [...(groups.get(key) ?? []), run]);
  }
  return [...groups.values()];
}

/**
 * Sends a command once for each run, side by side, or once for many. Gives an outcome for each id, in their order. A command for
 * many passes over ids that do not exist: so their records are read first, as are those that may be left as they are.
 */
async function sendToEach(ids: readonly string[], command: ManyCommand, context: Context): Promise<Outcomes> {
  const { session } = context;
  const { forMany, isLeft, ifUuid, keys, after = unread } = command;
  if (ids.length < 1 || ids.length > MAX_IDS)
    throw new InputError(`ids: expected 1 to ${MAX_IDS} ids, got ${ids.length}`);
  const named = ids.map((id, index) => resolveRunId(`ids[${index}]`, id));
  const prepare = async (run: RunResource, { length }: readonly RunResource[]): Promise<RunResource> => {
    endpointFor(run, command, context);
    if (isNamedInFull(run)) await load(run, ["unique_name"], session);
    if (ifUuid != null) await requireUuid(run, ifUuid, context);
    if (keys) return readBefore(run, ownOf(run, keys), context);
    return isLeft || length > 1 ? readFresh(run, session) : run;
  };
  const groups = await Promise.all(
    groupsOf(named, command, context).map((group) =>
      Promise.all(group.map(async (run) => ({ run, now: await orError(prepare(run, group)) }))),
    ),
  );
  const outcomes = new Map<string, Outcome<Commanded> | Promise<Outcome<Commanded>>>();
  for (const group of groups) {
    const wanted: RunResource[] = [];
    for (const { run, now } of group)
      if (now instanceof GatewayError) outcomes.set(idOf(run), now);
      else if (isLeft?.(now)) outcomes.set(idOf(run), { run: now, isSent: false });
      else wanted.push(now);
    const [first] = wanted;
    if (!first) continue;
    const numbers = wanted.map(({ address }) => address.id);
    const sending = orError<unknown>(
      forMany && group.length > 1
        ? session.send(forMany, first.address, numbers)
        : sendFor(first, endpointFor(first, command, context), context),
    );
    for (const each of wanted) {
      const outcome = sending.then(async (sent) =>
        sent instanceof GatewayError ? sent : { run: await after(each), isSent: true },
      );
      outcomes.set(idOf(each), outcome);
    }
  }
  // Safe: each has an outcome.
  return Promise.all(named.map((each) => outcomes.get(idOf(each)) as Outcome<Commanded>));
}

const CommandOutcome = enumType("CommandOutcome", "What became of a command for one of several runs.", {
  DONE: "The service accepted it.",
  REFUSED: "The service refused it.",
  NOT_SENT: "It was not sent: the run had finished, or cannot be commanded now.",
  UNKNOWN: "It may have taken effect. Read the run before you repeat it.",
});

function wordOf(outcome: Outcome<Commanded>): typeof CommandOutcome.$inferType {
  if (!(outcome instanceof GatewayError)) return outcome.isSent ? "DONE" : "NOT_SENT";
  const { outcome: unknown, upstream } = outcome.details;
  if (unknown) return "UNKNOWN";
  // Before a command is sent, the record is read.
  return upstream?.method !== "GET" && upstream?.status !== undefined ? "REFUSED" : "NOT_SENT";
}

/** The result of each, or its error as that of an item of a list, which includes the outcomes of the others. */
const eachOf =
  <Result>(resultOf: (run: RunResource) => Result) =>
  (outcomes: Outcomes): Promise<Result | null>[] =>
    outcomes.map(async (outcome) => {
      if (outcome instanceof GatewayError) throw new BatchItemError(outcome, outcomes.map(wordOf));
      return outcome.run && resultOf(outcome.run);
    });

const outcomes = computedFrom(
  [CommandOutcome],
  "What became of each, in the order of the ids.",
  (all: Outcomes) => all.map(wordOf),
);

const RunsPayload = objectType<Outcomes>("RunsPayload", "Payload of a command on several runs.", (t) => ({
  runs: t.field({
    type: [Run],
    nullable: { list: false, items: true },
    description: "The records after the command, in the order of the ids; null with an error if it failed.",
    resolve: eachOf((run) => run),
  }),
  outcomes: t.field(outcomes),
}));

const DeleteRunsPayload = builder.objectRef<Outcomes>("DeleteRunsPayload").implement({
  description: "Payload of a command that deletes several runs.",
  fields: (t) => ({
    deletedIds: t.field({
      type: ["ID"],
      nullable: { list: false, items: true },
      description: "Global ids of the deleted, in the order of the ids; null with an error if it failed.",
      resolve: eachOf(idOf),
    }),
    outcomes: t.field(outcomes),
  }),
});

root.query("run", {
  type: Run,
  description: "A run of any kind by its id.",
  args: { id: arg.id({ required: true, description: ANY_KIND }) },
  resolve: (_, { id }, { session }) => findRun("id", id, session),
});

const idsArg = {
  ids: arg.idList({
    required: true,
    description: `1 to ${MAX_IDS}, each a global id, a \`reference\`, or a unique name that only one kind can have.`,
  }),
};

const { stopMany, deleteMany } = runs.experiment.optional;

const stop: ManyCommand = { endpointOf: ({ endpoints }) => endpoints.stop, forMany: stopMany };

root.mutation("stopRuns", {
  type: RunsPayload,
  description: `Stops runs of any kind. ${STOPS}`,
  args: { ...idsArg, ...forceArg },
  resolve: (_, { ids, force }, context) =>
    sendToEach(ids, force ? stop : { ...stop, isLeft: hasFinished }, context),
});

root.mutation("deleteRuns", {
  type: DeleteRunsPayload,
  description: "Deletes runs of any kind.",
  args: { ...idsArg, ...ifUuidArg },
  resolve: (_, { ids, ifUuid }, context) => {
    if (ifUuid != null && ids.length !== 1)
      throw new InputError(`ids: expected one id with \`ifUuid\`, got ${ids.length}`);
    const command = { endpointOf: ({ endpoints }: Row) => endpoints.delete, forMany: deleteMany, ifUuid };
    return sendToEach(ids, command, context);
  },
});

root.mutation("bookmarkRuns", {
  type: RunsPayload,
  description: "Bookmarks runs of any kind for the caller.",
  args: { ...idsArg, ...bookmarkArg },
  resolve: (_, { ids, isBookmarked }, context) => {
    const name = isBookmarked ? "bookmark" : "unbookmark";
    return sendToEach(ids, { endpointOf: ({ endpoints }) => endpoints[name] }, context);
  },
});

const archiveArgs = { ...idsArg, ...archiveArg };

root.mutation("archiveRuns", {
  type: RunsPayload,
  description: `Archives runs of any kind. ${ARCHIVES}${requires(runs.experiment.optional.archive)}`,
  args: archiveArgs,
  ...withKeys(({ ids, isArchived }: InputShapeFromFields<typeof archiveArgs>, context, keysOf) => {
    const name = isArchived ? "archive" : "restore";
    const keys = keysOf("runs");
    const command: ManyCommand = {
      endpointOf: ({ optional }) => optional?.[name],
      keys: isArchived ? keys : undefined,
      after: (run) => ifShown(run, { deleted: isArchived }, ownOf(run, keys), context),
    };
    return sendToEach(ids, command, context);
  }),
});
