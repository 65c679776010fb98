import type { Command } from "../../rest/api/endpoint.ts";
import { notOffered } from "../../rest/api/endpoint.ts";
import type { RunKind as Row } from "../../rest/api/kind.ts";
import { runs } from "../../rest/api/kinds.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder } from "../core/builder.ts";
import type { Context } from "../core/context.ts";
import { ANY_RUN, identifyRun, requires } from "../core/ids.ts";
import { Run } from "../core/refs.ts";
import { unverified } from "../core/resource.ts";
import {
  type CommandResult,
  DeletedRun,
  payloadOf,
  payloadTitle,
  RunPayload,
} from "../operations/mutations.ts";
import { kindArg, kindOf } from "./run-kind.ts";
import { ifActiveArg, isSentField, stopRun, type StopResult, stopTitle } from "./stop.ts";

/* Root fields for a run of any kind: the look-up, and a mutation for each command that all kinds have. */

const anyRun = builder.args((t) => ({ id: t.id({ required: true, description: ANY_RUN }), ...kindArg }));

interface AnyRun {
  readonly id: string;
  readonly kind?: string | null | undefined;
}

const runOf = ({ id, kind }: AnyRun, { names }: Context) => identifyRun("id", id, names, kindOf(kind));

type RunResource = ReturnType<typeof runOf>;
type Result = CommandResult<RunResource["loaded"]>;
type Act = Command<RunAddress, undefined>;

/** The endpoint of a command for a run. Throws `UpstreamError` for a kind without it. */
function endpointOf({ kind: { run } }: RunResource, find: (row: Row) => Act | undefined): Act {
  const endpoint = run && find(run);
  if (!endpoint) throw notOffered("this for such a run");
  return endpoint;
}

/** Sends a command for a run. */
async function sendTo(source: RunResource, endpoint: Act, { session }: Context): Promise<Result> {
  await session.send(endpoint, source.address, undefined);
  return { source, result: source };
}

const payloadWithRun = (mutation: string) =>
  payloadOf<Result>(mutation).implement({ description: payloadTitle(mutation), interfaces: [RunPayload] });

const StopRunPayload = payloadOf<StopResult>("stopRun").implement({
  description: payloadTitle("stopRun"),
  interfaces: [RunPayload],
  fields: (t) => ({ isSent: t.boolean(isSentField) }),
});

const { archive } = runs.experiment.optional;

builder.queryField("run", (t) =>
  t.field({
    type: Run,
    description: "Any run by its global id or unique name. Null with an error if it does not exist.",
    args: anyRun,
    resolve: (_, args, context) => unverified(runOf(args, context)),
  }),
);

builder.mutationFields((t) => ({
  stopRun: t.field({
    type: StopRunPayload,
    description: stopTitle("a run of any kind"),
    args: { ...anyRun, ...ifActiveArg },
    resolve: (_, { ifActive, ...args }, context) => {
      const source = runOf(args, context);
      const endpoint = endpointOf(source, ({ endpoints }) => endpoints.stop);
      return stopRun(source, endpoint, ifActive, context.session);
    },
  }),
  bookmarkRun: t.field({
    type: payloadWithRun("bookmarkRun"),
    description: "Bookmarks a run of any kind for the caller, or removes the bookmark.",
    args: {
      ...anyRun,
      isBookmarked: t.arg.boolean({
        required: true,
        defaultValue: true,
        description: "Whether it shall be bookmarked. False removes the bookmark.",
      }),
    },
    resolve: (_, { isBookmarked, ...args }, context) => {
      const source = runOf(args, context);
      const find = ({ endpoints: { bookmark, unbookmark } }: Row) => (isBookmarked ? bookmark : unbookmark);
      return sendTo(source, endpointOf(source, find), context);
    },
  }),
  archiveRun: t.field({
    type: payloadWithRun("archiveRun"),
    description: `Archives a run of any kind, or restores it: lists leave it out until it is restored. The server can stop what is archived, and delete it for good after some days.${requires(archive)}`,
    args: {
      ...anyRun,
      isArchived: t.arg.boolean({
        required: true,
        defaultValue: true,
        description: "Whether it shall be in the archive. False restores it.",
      }),
    },
    resolve: (_, { isArchived, ...args }, context) => {
      const source = runOf(args, context);
      const find = ({ optional }: Row) => (isArchived ? optional?.archive : optional?.restore);
      return sendTo(source, endpointOf(source, find), context);
    },
  }),
  deleteRun: t.field({
    type: payloadOf<Result>("deleteRun").implement({
      description: payloadTitle("deleteRun"),
      interfaces: [DeletedRun],
    }),
    description: "Deletes a run of any kind.",
    args: anyRun,
    resolve: (_, args, context) => {
      const source = runOf(args, context);
      return sendTo(
        source,
        endpointOf(source, ({ endpoints }) => endpoints.delete),
        context,
      );
    },
  }),
}));
