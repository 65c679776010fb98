import type { ObjectRef } from "@pothos/core";
import { type Command, notOffered } from "../../rest/api/endpoint.ts";
import type { RunKind as Row } from "../../rest/api/kind.ts";
import { runs } from "../../rest/api/kinds.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder, type PothosTypes } from "../core/builder.ts";
import type { Context } from "../core/context.ts";
import { ANY_KIND, identifyRun, ofAnotherKind, requires } from "../core/ids.ts";
import { Run } from "../core/refs.ts";
import { unverified } from "../core/resource.ts";
import { checkName } from "../operations/named-run.ts";
import { checkIds, orError, orThrow, type Outcome, severalIds } from "../operations/each.ts";
import {
  type CommandResult,
  DeletedRun,
  payloadOf,
  payloadTitle,
  RunPayload,
} from "../operations/mutations.ts";
import { kindArg, kindOf } from "./run-kind.ts";
import { ifActiveArg, isSentField, stopRun, type StopResult, stopTitle } from "./stop.ts";

/*
 * Root fields for runs of any kind: the look-up, and for each command that all kinds have a mutation of one run and one of
 * several.
 */

const anyRun = builder.args((t) => ({ id: t.id({ required: true, description: ANY_KIND }), ...kindArg }));

const anyRuns = builder.args((t) => ({
  ids: t.idList({
    required: true,
    description: `${severalIds("ada.mnist.jobs.3")} A name that an experiment and a group can have, such as \`ada.mnist.5\`, needs \`kind\`.`,
  }),
  ...kindArg,
}));

interface AnyRun {
  readonly id: string;
  readonly kind?: string | null | undefined;
}

const runOf = ({ id, kind }: AnyRun, argument = "id") => identifyRun(argument, id, kindOf(kind));

/** The run that a command is for. Throws `InputError` for an id of another kind than `kind`: one of both is a slip. */
async function targetOf(args: AnyRun, context: Context): Promise<RunResource> {
  const run = runOf(args);
  const { name } = kindOf(args.kind) ?? run.kind;
  if (name !== run.kind.name) throw ofAnotherKind("id", name, run);
  await checkName("id", args.id, run, context.session);
  return run;
}

type RunResource = ReturnType<typeof runOf>;
type Result = CommandResult<RunResource["loaded"]>;
type Find = (row: Row) => Command<RunAddress, undefined> | undefined;

/** The endpoint of a command for a run. Throws `UpstreamError` for a kind without it. */
function endpointOf({ kind: { run } }: RunResource, find: Find) {
  const endpoint = run && find(run);
  if (!endpoint) throw notOffered("this for such a run");
  return endpoint;
}

/** Sends a command for a run. */
async function sendTo(source: RunResource, find: Find, { session }: Context): Promise<Result> {
  await session.send(endpointOf(source, find), source.address, undefined);
  return { source, result: source };
}

const stop = async (source: RunResource, ifActive: boolean, { session }: Context): Promise<StopResult> =>
  stopRun(
    source,
    endpointOf(source, ({ endpoints }) => endpoints.stop),
    ifActive,
    session,
  );

const findBookmark =
  (isBookmarked: boolean) =>
  ({ endpoints: { bookmark, unbookmark } }: Row) =>
    isBookmarked ? bookmark : unbookmark;

const findArchive =
  (isArchived: boolean) =>
  ({ optional }: Row) =>
    isArchived ? optional?.archive : optional?.restore;

const findDelete = ({ endpoints }: Row) => endpoints.delete;

/** Sends a command once for each run, side by side. Gives an outcome for each id, in their order. */
async function sendToEach<One>(
  { ids, kind }: Omit<AnyRun, "id"> & { readonly ids: readonly string[] },
  context: Context,
  send: (source: RunResource) => Promise<One>,
): Promise<readonly Outcome<One>[]> {
  checkIds(ids);
  const sources = ids.map((id, index) => runOf({ id, kind }, `ids[${index}]`));
  // All are checked before anything is sent.
  const checks = await Promise.all(
    sources.map((source, index) =>
      orError(checkName(`ids[${index}]`, ids[index] ?? "", source, context.session)),
    ),
  );
  const sent = new Map<string, Promise<Outcome<One>>>();
  return Promise.all(
    sources.map((source, index) => {
      if (checks[index]) return checks[index];
      const key = `${source.kind.name}:${source.kind.formatName(source.address)}`;
      const outcome = sent.get(key) ?? orError(send(source));
      sent.set(key, outcome);
      return outcome;
    }),
  );
}

const StopRunPayload = payloadOf<StopResult>("stopRun").implement({
  description: payloadTitle("stopRun"),
  interfaces: [RunPayload],
  fields: (t) => ({ isSent: t.boolean(isSentField) }),
});

const withRun = (mutation: string) =>
  payloadOf<Result>(mutation).implement({ description: payloadTitle(mutation), interfaces: [RunPayload] });

const BookmarkRunPayload = withRun("bookmarkRun");
const ArchiveRunPayload = withRun("archiveRun");

const DeleteRunPayload = payloadOf<Result>("deleteRun").implement({
  description: payloadTitle("deleteRun"),
  interfaces: [DeletedRun],
});

/** The payload of a mutation of several runs, whose results are payloads of the mutation of one. */
const severalOf = <One extends Result>(mutation: string, payload: ObjectRef<PothosTypes, One>) =>
  payloadOf<readonly Outcome<One>[]>(mutation).implement({
    description: payloadTitle(mutation),
    fields: (t) => ({
      results: t.field({
        type: [payload],
        nullable: { list: false, items: true },
        description: "One for each id, in their order. Null with an error for a run that it failed for.",
        // Safe: Pothos does not resolve the shape of a type parameter.
        resolve: (outcomes) => outcomes.map(orThrow) as never,
      }),
    }),
  });

const EACH = "One upstream request for each, side by side.";

const isBookmarkedArg = builder.args((t) => ({
  isBookmarked: t.boolean({
    required: true,
    defaultValue: true,
    description: "Whether it shall be bookmarked. False removes the bookmark.",
  }),
}));

const isArchivedArg = builder.args((t) => ({
  isArchived: t.boolean({
    required: true,
    defaultValue: true,
    description: "Whether it shall be in the archive. False restores it.",
  }),
}));

const bookmarkTitle = (what: string) => `Bookmarks ${what} for the caller, or removes the bookmark.`;

const archiveTitle = (what: string) =>
  `Archives ${what}, or restores it: lists leave it out until it is restored. The server can stop what is archived, and delete it for good after some days.${requires(runs.experiment.optional.archive)}`;

const ONE = "a run of any kind";
const SEVERAL = "each of several runs of any kind";

builder.queryField("run", (t) =>
  t.field({
    type: Run,
    description: "Any run by its global id or unique name. Null with an error if it does not exist.",
    args: anyRun,
    resolve: (_, args) => unverified(runOf(args)),
  }),
);

builder.mutationFields((t) => ({
  stopRun: t.field({
    type: StopRunPayload,
    description: stopTitle(ONE),
    args: { ...anyRun, ...ifActiveArg },
    resolve: async (_, { ifActive, ...args }, context) =>
      stop(await targetOf(args, context), ifActive, context),
  }),
  stopRuns: t.field({
    type: severalOf("stopRuns", StopRunPayload),
    description: `${stopTitle(SEVERAL)} ${EACH} \`stopExperiments\` takes fewer where the server has it.`,
    args: { ...anyRuns, ...ifActiveArg },
    resolve: (_, { ifActive, ...args }, context) =>
      sendToEach(args, context, (source) => stop(source, ifActive, context)),
  }),
  bookmarkRun: t.field({
    type: BookmarkRunPayload,
    description: bookmarkTitle(ONE),
    args: { ...anyRun, ...isBookmarkedArg },
    resolve: async (_, { isBookmarked, ...args }, context) =>
      sendTo(await targetOf(args, context), findBookmark(isBookmarked), context),
  }),
  bookmarkRuns: t.field({
    type: severalOf("bookmarkRuns", BookmarkRunPayload),
    description: `${bookmarkTitle(SEVERAL)} ${EACH}`,
    args: { ...anyRuns, ...isBookmarkedArg },
    resolve: (_, { isBookmarked, ...args }, context) =>
      sendToEach(args, context, (source) => sendTo(source, findBookmark(isBookmarked), context)),
  }),
  archiveRun: t.field({
    type: ArchiveRunPayload,
    description: archiveTitle(ONE),
    args: { ...anyRun, ...isArchivedArg },
    resolve: async (_, { isArchived, ...args }, context) =>
      sendTo(await targetOf(args, context), findArchive(isArchived), context),
  }),
  archiveRuns: t.field({
    type: severalOf("archiveRuns", ArchiveRunPayload),
    description: `${archiveTitle(SEVERAL)} ${EACH}`,
    args: { ...anyRuns, ...isArchivedArg },
    resolve: (_, { isArchived, ...args }, context) =>
      sendToEach(args, context, (source) => sendTo(source, findArchive(isArchived), context)),
  }),
  deleteRun: t.field({
    type: DeleteRunPayload,
    description: `Deletes ${ONE}.`,
    args: anyRun,
    resolve: async (_, args, context) => sendTo(await targetOf(args, context), findDelete, context),
  }),
  deleteRuns: t.field({
    type: severalOf("deleteRuns", DeleteRunPayload),
    description: `Deletes ${SEVERAL}. ${EACH} \`deleteExperiments\` takes fewer where the server has it.`,
    args: anyRuns,
    resolve: (_, args, context) => sendToEach(args, context, (source) => sendTo(source, findDelete, context)),
  }),
}));
