import type { FieldMap, InputShapeFromFields } from "@pothos/core";
import { InputError, GatewayError } from "../../errors.ts";
import { type Command, notOffered } from "../../rest/api/endpoint.ts";
import { capital, type RunKind as Row, runs, uncapital } from "../../rest/api/kinds.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { arg, computedFromOrNull, exposed, objectType, type PothosTypes, root } from "../core/builder.ts";
import { MAX_IDS } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { ANY_KIND, findRun, lookUp, resolveRunId, idOf, requires } from "../core/ids.ts";
import { kindsByName, type ProjectAddress } from "../core/kinds.ts";
import { Experiment, Run, runRefs, type RunResource } from "../core/refs.ts";
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
  REPEATABLE,
  requireUuid,
  sendFor,
} from "../core/mutations.ts";
import { type CommandResult, orError, payloadOfSeveral, resultFields } from "./command-outcome.ts";
import { forceArg, hasFinished, readFresh, STOPS } from "./run-mutations.ts";

/*
 * The root fields that look up a run, and the mutations that send a command to several runs. Such a mutation can fail for some of the runs
 * only.
 */

for (const target of runRefs) {
  const { name, one } = target.kind.run;
  root.query(uncapital(name), lookUp(target, `${capital(one)} by its id.`));
}

interface ManyCommand {
  readonly endpointOf: (row: Row) => Command<RunAddress, undefined> | undefined;
  /** The endpoint that takes several experiments of a project in one request. */
  readonly forMany?: Command<ProjectAddress, undefined, readonly string[]>;
  /** Returns whether the command must not be sent, because of the state of the run. If given, each run is read first. */
  readonly isLeft?: ((run: RunResource) => boolean) | undefined;
  /** The `uuid` that the run must have. */
  readonly ifUuid?: string | null | undefined;
  /** The selected keys of a run. If given, they are read before the command, which hides the run. */
  readonly keys?: readonly string[] | undefined;
  /**
   * Returns the run after the command, from the run that was read before it; null if the service hides the run. Defaults to a run with only
   * its address.
   */
  readonly after?: (run: RunResource) => Promise<RunResource | null>;
}

// Safe: the kind in the table is a kind of run, as the kind of the resource is.
const unread = async ({ kind, address }: RunResource) =>
  toResource(kindsByName.get(kind.name) ?? kind, address) as RunResource;

/** The selected keys that records of a kind of run have. */
function ownOf({ kind: { run } }: RunResource, keys: readonly string[]): readonly string[] {
  const own = new Set(run?.keys);
  return keys.filter((key) => own.has(key));
}

/** Returns the endpoint of a command for a run. Throws `GatewayError` if the kind or the server lacks it. */
function endpointFor({ kind: { run } }: RunResource, { endpointOf }: ManyCommand, { server }: Context) {
  const endpoint = run && endpointOf(run);
  if (!endpoint) throw notOffered("this for such a run");
  server.supported(endpoint);
  return endpoint;
}

/**
 * Groups the runs by the request that handles them. If the server has a bulk command, the experiments of a project share one request. Every
 * other run has its own.
 */
function groupsOf(all: Iterable<RunResource>, { forMany }: ManyCommand, { server }: Context) {
  const groups = new Map<string, RunResource[]>();
  for (const run of all) {
    const { owner, project } = run.address;
    const isOfMany = run.kind.name === Experiment.kind.name && forMany && server.override(forMany);
    const key = isOfMany ? `${owner}/${project}` : idOf(run);
    groups.set(key, [...(groups.get(key) ?? []), run]);
  }
  return [...groups.values()];
}

/**
 * Sends a command for each group of `groupsOf`, in parallel. Returns a result for each id, in the order of the ids. Runs that share a
 * request are read first, because the command for many ignores runs that do not exist.
 */
async function sendToEach(
  ids: readonly string[],
  command: ManyCommand,
  context: Context,
): Promise<readonly RunResult[]> {
  const { session } = context;
  const { forMany, isLeft, ifUuid, keys, after = unread } = command;
  if (ids.length < 1 || ids.length > MAX_IDS)
    throw new InputError(`ids: expected 1 to ${MAX_IDS} ids, got ${ids.length}`);
  // A name with the number of a group is verified on its own, because it may be wrong while another id of the same run is right.
  const distinct = new Map<string, RunResource>();
  const named = ids.map((id, index) => {
    const run = resolveRunId(`ids[${index}]`, id);
    const key = isNamedInFull(run) ? id : idOf(run);
    const first = distinct.get(key) ?? run;
    distinct.set(key, first);
    return first;
  });
  const prepare = async (run: RunResource, { length }: readonly RunResource[]): Promise<RunResource> => {
    endpointFor(run, command, context);
    if (isNamedInFull(run)) await load(run, ["unique_name"], session);
    if (ifUuid != null) await requireUuid(run, ifUuid, context);
    if (keys) return readBefore(run, ownOf(run, keys), context);
    return isLeft || length > 1 ? readFresh(run, session) : run;
  };
  const groups = await Promise.all(
    groupsOf(distinct.values(), command, context).map((group) =>
      Promise.all(group.map(async (run) => ({ run, now: await orError(prepare(run, group)) }))),
    ),
  );
  const results = new Map<RunResource, CommandResult | Promise<CommandResult>>();
  for (const group of groups) {
    const wanted: { readonly run: RunResource; readonly now: RunResource }[] = [];
    for (const { run, now } of group)
      if (now instanceof GatewayError) results.set(run, now);
      else if (isLeft?.(now)) results.set(run, { run: now, isSent: false });
      else wanted.push({ run, now });
    const [first] = wanted;
    if (!first) continue;
    const numbers = [...new Set(wanted.map(({ now }) => now.address.id))];
    const sending = orError<unknown>(
      forMany && group.length > 1
        ? session.send(forMany, first.now.address, numbers)
        : sendFor(first.now, endpointFor(first.now, command, context), context),
    );
    for (const { run, now } of wanted) {
      const result = sending.then(async (sent) =>
        sent instanceof GatewayError ? sent : { run: await after(now), isSent: true },
      );
      results.set(run, result);
    }
  }
  return Promise.all(
    named.map(async (each, index) => ({
      requestedId: ids[index] ?? "",
      // Safe: the loop above has set a result for each run.
      result: (await results.get(each)) as CommandResult,
    })),
  );
}

/** The result of a command for one of several runs, with the id by which it was requested. */
interface RunResult {
  readonly requestedId: string;
  readonly result: CommandResult;
}

const runOf = ({ result }: RunResult): RunResource | null =>
  result instanceof GatewayError ? null : result.run;

const resultType = <Fields extends FieldMap>(
  name: string,
  own: (t: PothosSchemaTypes.ObjectFieldBuilder<PothosTypes, RunResult>) => Fields,
) =>
  objectType<RunResult>(name, "The result of a command for one of several runs.", (t) => ({
    requestedId: t.id(exposed("requestedId", "The id as it was given.")),
    ...resultFields(t),
    ...own(t),
  }));

const RunsPayload = payloadOfSeveral(
  "RunsPayload",
  "Payload of a command on several runs.",
  "id",
  resultType("RunResult", (t) => ({
    run: t.field({
      type: Run,
      nullable: true,
      description: "The record after the command; null if it failed.",
      resolve: runOf,
    }),
  })),
);

const DeleteRunsPayload = payloadOfSeveral(
  "DeleteRunsPayload",
  "Payload of a command that deletes several runs.",
  "id",
  resultType("DeleteRunResult", (t) => ({
    deletedId: t.field(
      computedFromOrNull(
        "ID",
        "Global id of the deleted run; null if it was not deleted.",
        (result: RunResult) => {
          const run = runOf(result);
          return run && idOf(run);
        },
      ),
    ),
  })),
);

root.query("run", {
  type: Run,
  description: "A run of any kind by its id.",
  args: { id: arg.id({ required: true, description: ANY_KIND }) },
  resolve: (_, { id }, { session }) => findRun("id", id, session),
});

const idsArg = {
  ids: arg.idList({
    required: true,
    description: `1 to ${MAX_IDS}, each a global id, a \`reference\` such as \`ada.mnist.experiments.42\`, or a unique name that only one kind can have, such as \`ada.mnist.jobs.3\`.`,
  }),
};

const { stopMany, deleteMany } = runs.experiment.optional;

const stop: ManyCommand = { endpointOf: ({ endpoints }) => endpoints.stop, forMany: stopMany };

root.mutation("stopRuns", {
  type: RunsPayload,
  description: `Stops runs of any kind. The experiments of a group are stopped as well. ${STOPS} ${REPEATABLE}`,
  args: { ...idsArg, ...forceArg },
  resolve: (_, { ids, force }, context) =>
    sendToEach(ids, force ? stop : { ...stop, isLeft: hasFinished }, context),
});

root.mutation("deleteRuns", {
  type: DeleteRunsPayload,
  description: "Deletes runs of any kind. The experiments of a group are deleted as well.",
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
  description: `Bookmarks runs of any kind for the caller. ${REPEATABLE}`,
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
    const keys = keysOf("results", "run");
    const command: ManyCommand = {
      endpointOf: ({ optional }) => optional?.[name],
      keys: isArchived ? keys : undefined,
      after: (run) => ifShown(run, { deleted: isArchived }, ownOf(run, keys), context),
    };
    return sendToEach(ids, command, context);
  }),
});
