import { UpstreamError } from "../../errors.ts";
import type { Command } from "../../rest/api/endpoint.ts";
import { runs } from "../../rest/api/kinds.ts";
import { builder } from "../core/builder.ts";
import type { Context } from "../core/context.ts";
import { identify, idOf, requires } from "../core/ids.ts";
import type { ProjectAddress } from "../core/kinds.ts";
import { Experiment } from "../core/refs.ts";
import { fetchMore } from "../core/resource.ts";
import { isFinished } from "./status.ts";
import { ifActiveArg, STATE } from "./stop.ts";
import { checkIds, orError, orThrow, type Outcome, severalIds } from "../operations/each.ts";
import { requireName } from "../operations/named-run.ts";
import { payloadOf, payloadTitle } from "../operations/mutations.ts";

/*
 * Commands for several experiments, one request for each project. The service accepts any ids and passes over those of no
 * experiment. So the records are read first: only then can the result tell what became of each.
 */

/** Keys that tell what an experiment is called and whether it has finished. */
const KEYS = ["unique_name", ...STATE];

type Source = typeof Experiment.$inferType;

/** What became of one experiment. */
interface Acted {
  readonly source: Source;
  readonly isSent: boolean;
}

const idsArg = builder.args((t) => ({
  ids: t.idList({
    required: true,
    description: severalIds(Experiment.kind.exampleName),
  }),
}));

/** A command for the experiments of one project. */
type ManyCommand = Command<ProjectAddress, undefined, readonly string[]>;

/** Sends a command for the experiments that exist and are wanted. Returns an outcome or an error for each id, in their order. */
async function actOnMany(
  endpoint: ManyCommand,
  ids: readonly string[],
  isWanted: (source: Source) => boolean,
  { session }: Context,
): Promise<readonly Outcome<Acted>[]> {
  checkIds(ids);
  const named = ids.map((id, index) => identify(Experiment.kind, `ids[${index}]`, id));
  session.server.offered(endpoint);
  // What other operations have read may be older.
  session.endSharing();
  const found = await Promise.all(named.map((source) => orError(fetchMore(source, KEYS, session))));
  for (const [index, each] of found.entries()) {
    if (!(each instanceof UpstreamError))
      requireName(`ids[${index}]`, ids[index] ?? "", each, each.loaded.unique_name);
  }
  const wanted = found.filter((each): each is Source => !(each instanceof UpstreamError) && isWanted(each));
  const failures = new Map<string, UpstreamError>();
  await Promise.all(
    projectsOf(wanted).map(async ({ key, address, numbers }) => {
      const failure = await orError(session.send(endpoint, address, numbers));
      if (failure) failures.set(key, failure);
    }),
  );
  return found.map((each) => {
    if (each instanceof UpstreamError) return each;
    // Of what was read only the address is still true.
    const source = { ...each, loaded: Experiment.kind.fromAddress(each.address, null) };
    if (!wanted.includes(each)) return { source: each, isSent: false };
    return failures.get(keyOf(each)) ?? { source, isSent: true };
  });
}

const keyOf = ({ address: { owner, project } }: Source): string => `${owner}/${project}`;

/** The projects of experiments, each with the numbers of its own. */
function projectsOf(sources: readonly Source[]) {
  const projects = new Map<string, { key: string; address: ProjectAddress; numbers: string[] }>();
  for (const source of sources) {
    const key = keyOf(source);
    const { owner, project, id } = source.address;
    const { numbers, ...rest } = projects.get(key) ?? { key, address: { owner, project }, numbers: [] };
    projects.set(key, { ...rest, numbers: [...new Set([...numbers, id])] });
  }
  return [...projects.values()];
}

const ONE_EACH =
  "One for each id, in their order. Null with an error for an experiment that does not exist, and for all of a project that refuses the command.";

const { stopMany, deleteMany } = runs.experiment.optional;

const Stopped = builder.objectRef<Acted>("StopExperimentsResult").implement({
  description: "What became of one of several experiments.",
  fields: (t) => ({
    experiment: t.field({
      type: Experiment,
      description: "The record after the command. Read only if more than its address is selected.",
      resolve: ({ source }) => source,
    }),
    isSent: t.boolean({
      nullable: false,
      description: "Whether the command was sent for it. False for a finished experiment with `ifActive`.",
      resolve: ({ isSent }) => isSent,
    }),
  }),
});

builder.mutationField("stopExperiments", (t) =>
  t.field({
    type: payloadOf<readonly Outcome<Acted>[]>("stopExperiments").implement({
      description: payloadTitle("stopExperiments"),
      fields: (of) => ({
        results: of.field({
          type: [Stopped],
          nullable: { list: false, items: true },
          description: ONE_EACH,
          resolve: (outcomes) => outcomes.map(orThrow),
        }),
      }),
    }),
    description: `Stops experiments, with one request for each project, after reading which of them exist. Stopping takes time: the status in the payload can still be the old one.${requires(stopMany)}`,
    args: { ...idsArg, ...ifActiveArg },
    resolve: (_, { ids, ifActive }, context) =>
      actOnMany(stopMany, ids, ({ loaded }) => !ifActive || !isFinished(loaded), context),
  }),
);

builder.mutationField("deleteExperiments", (t) =>
  t.field({
    type: payloadOf<readonly Outcome<Acted>[]>("deleteExperiments").implement({
      description: payloadTitle("deleteExperiments"),
      fields: (of) => ({
        deletedIds: of.idList({
          nullable: { list: false, items: true },
          description: `Global ids. ${ONE_EACH}`,
          resolve: (outcomes) => outcomes.map(async (...each) => idOf((await orThrow(...each)).source)),
        }),
      }),
    }),
    description: `Deletes experiments, with one request for each project, after reading which of them exist.${requires(deleteMany)}`,
    args: idsArg,
    resolve: (_, { ids }, context) => actOnMany(deleteMany, ids, () => true, context),
  }),
);
