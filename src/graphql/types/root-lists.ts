import { notOffered } from "../../rest/api/endpoint.ts";
import { project } from "../../rest/api/project.ts";
import { builder } from "../core/builder.ts";
import { connectionOf } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { checked, identify, requires } from "../core/ids.ts";
import { kinds, readViewer } from "../core/kinds.ts";
import { Run } from "../core/refs.ts";
import { addScan } from "./list-scan.ts";
import { RunKind, runKindNamed } from "./run-kind.ts";
import { type RunListArgs, readRuns, runListOf } from "./run-list.ts";
import { projectArgs, ProjectConnection, readProjects } from "./user-list.ts";

/* Lists at the root, where clients begin. */

export const RunConnection = connectionOf("Run", Run, "A page of runs of one kind.");
addScan(RunConnection);

const experiments = runListOf(kinds.experiment);
const groups = runListOf(kinds.group);

const projectArg = builder.args((t) => ({
  project: t.id({
    description: `Global id, or unique name such as \`${kinds.project.exampleName}\`, of the project. Without it the list is null with the code \`CAPABILITY_UNAVAILABLE\`: lists over all projects are not offered.`,
  }),
}));

/** Finds the project of a list. Throws `InputError`, and `UpstreamError` without one. */
function projectOf(id: string | null | undefined, many: string, { session }: Context) {
  session.requireToken();
  if (id == null) throw notOffered(`lists of ${many} of all projects; name one by the argument \`project\``);
  return { address: identify(kinds.project, "project", id).address, listedIn: null };
}

interface RunsArgs extends RunListArgs {
  readonly kind: string;
  readonly project?: string | null | undefined;
}

/** Reads runs of a kind. Figures are told of experiments. */
async function runsOf({ kind: name, project: id, ...args }: RunsArgs, context: Context) {
  const list = runListOf(runKindNamed(name));
  const listing = projectOf(id, list.target.kind.run.many, context);
  const { readAll, ...page } = await readRuns({ list, ...listing }, args, context);
  return list === experiments && readAll ? { ...page, readAll } : page;
}

builder.queryFields((t) => ({
  projects: t.field({
    type: ProjectConnection,
    description: `Projects of an owner that the caller may see, in the order of the server.${requires(project.optional.list)}`,
    args: {
      owner: t.arg.string({
        description: "Login name. Default: the caller, whose name costs an upstream request.",
      }),
      ...projectArgs,
    },
    resolve: async (_, { owner, ...args }, context) => {
      const { session } = context;
      session.requireToken();
      session.server.offered(project.optional.list);
      const name = owner ?? (await readViewer(session)).username;
      return readProjects(checked("owner", { owner: name }).owner, args, context);
    },
  }),
  runs: t.field({
    type: RunConnection,
    description: `Runs of one kind of a project. Servers have a list for each kind: for several kinds, select it once for each, and merge the pages by \`createdAt\`.${requires(experiments.endpoint)}`,
    args: {
      kind: t.arg({
        type: RunKind,
        required: true,
        defaultValue: "EXPERIMENT",
        description:
          "Kind of the runs. For another kind than experiments, `filter` takes only the members that the filter of that kind has.",
      }),
      ...projectArg,
      ...experiments.args,
    },
    resolve: (_, args, context) => runsOf(args, context),
  }),
  groups: t.field({
    type: groups.type,
    description: `Groups of a project.${requires(groups.endpoint)}`,
    args: { ...projectArg, ...groups.args },
    resolve: (_, { project: id, ...args }, context) =>
      readRuns({ list: groups, ...projectOf(id, "groups", context) }, args, context),
  }),
}));
