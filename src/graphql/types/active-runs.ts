import type { InputShapeFromFields } from "@pothos/core";
import { isGatewayError } from "../../errors.ts";
import { project as projects, runs } from "../../rest/api/kinds.ts";
import { isObject, valueAt } from "../../rest/api/record.ts";
import type {
  ExperimentJobRecord,
  JobRecord,
  ProjectRecord,
  RunnableRecord,
} from "../../rest/api/records.ts";
import type { List } from "../../rest/session/page-reader.ts";
import { arg, builder, computedFrom, exposed, exposedOrNull, objectType } from "../core/builder.ts";
import { MAX_IDS, within } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { requires, resolveId } from "../core/ids.ts";
import { type ProjectAddress, readViewer } from "../core/kinds.ts";
import { ExperimentJob, jobOf, Node, Project, Run, type RunResource } from "../core/refs.ts";
import { isLoaded, load, type Resource } from "../core/resource.ts";
import { prepareList, runListOf, runLists } from "./run-list.ts";
import { readEntireList } from "./scan.ts";

/*
 * The active runs on a machine. Servers cannot filter runs by machine, so the gateway reads all active runs of the projects, once for all
 * machines of an operation. The records of jobs, build jobs and jobs of experiments have the name of their machine.
 */

type Placed = Partial<Pick<JobRecord, "node_scheduled" | "resources">>;

/** A run, or a job of an experiment, on a machine. */
interface OnNode {
  readonly node: string;
  readonly run: RunResource;
  readonly experimentJob: typeof ExperimentJob.$inferType | null;
  readonly gpus: number | null;
}

/** The active runs on one machine. */
interface ActiveRuns {
  readonly runs: readonly OnNode[];
  readonly gpusInUse: number | null;
  readonly isComplete: boolean;
}

/** The active runs of all machines, grouped once by the name of the machine, because an operation may select a machine many times. */
interface Search {
  readonly byNode: ReadonlyMap<string, ActiveRuns>;
  readonly isComplete: boolean;
}

function byNodeOf(all: readonly OnNode[], isComplete: boolean): Search {
  const byNode = new Map<string, { runs: OnNode[]; gpusInUse: number | null; isComplete: boolean }>();
  for (const each of all) {
    const there = byNode.get(each.node) ?? { runs: [], gpusInUse: 0, isComplete };
    there.runs.push(each);
    if (there.gpusInUse !== null) there.gpusInUse = each.gpus === null ? null : there.gpusInUse + each.gpus;
    byNode.set(each.node, there);
  }
  return { byNode, isComplete };
}

/** The number of GPUs that a run requests; null if the record does not contain it. */
function gpusIn({ resources }: Placed): number | null {
  if (resources === undefined) return null;
  const gpu = valueAt(resources, "gpu");
  if (gpu == null) return 0;
  const { requests, limits }: Readonly<Record<string, unknown>> = isObject(gpu) ? gpu : {};
  const count = requests ?? limits;
  return typeof count === "number" && Number.isInteger(count) ? count : null;
}

function onNode(record: Placed, run: RunResource, experimentJob: OnNode["experimentJob"]): readonly OnNode[] {
  const { node_scheduled: node } = record;
  return node ? [{ node, run, experimentJob, gpus: gpusIn(record) }] : [];
}

/**
 * Reads the active runs of the given projects, by default of the caller's projects. If the operation reaches a limit, the result is
 * incomplete.
 */
async function readActiveRuns(given: readonly ProjectAddress[] | null, context: Context): Promise<Search> {
  const { session, server, gateway } = context;
  let isComplete = true;
  const orNone = (error: unknown): readonly never[] => {
    // A run that has vanished since its list was read is not active.
    if (isGatewayError(error, "NOT_FOUND")) return [];
    if (!isGatewayError(error, "REQUEST_LIMIT_EXCEEDED", "PAGE_LIMIT_REACHED")) throw error;
    isComplete = false;
    return [];
  };
  const readAll = async <At, Row extends object>(list: List<At, Row>): Promise<readonly Row[]> => {
    const { records, isComplete: isWhole } = await readEntireList(context, list, gateway.maxScannedRows);
    isComplete &&= isWhole;
    return records;
  };
  const activeIn = async (kind: string, address: ProjectAddress): Promise<readonly RunResource[]> => {
    const args = { filter: { phases: ["ACTIVE" as const] } };
    const list = await prepareList({ list: runListOf(kind), address, listedIn: null }, args, context);
    return (await readAll<ProjectAddress, RunnableRecord>(list.listIn({})).catch(orNone)).map(list.toNode);
  };
  const placesOf = async (run: RunResource): Promise<readonly OnNode[]> => {
    const { address, kind } = run;
    if (kind.name !== runs.experiment.name) {
      const keys = ["node_scheduled", "resources"];
      const record: Placed & { readonly id?: unknown } = isLoaded(run, keys, server)
        ? run.loaded
        : await load(run, keys, session);
      return onNode(record, run, null);
    }
    const list = { endpoint: runs.experiment.endpoints.jobs, address, sortedBy: ["created_at"] };
    const jobs = await readAll<typeof address, ExperimentJobRecord>(list);
    return jobs.flatMap((job) => onNode(job, run, jobOf(address, job)));
  };
  const readOwn = async (): Promise<readonly ProjectAddress[]> => {
    server.supported(projects.optional.list);
    const owner = session.knownViewer() ?? (await readViewer(session)).username;
    const list = { endpoint: projects.optional.list, address: { owner }, sortedBy: ["updated_at"] };
    const found = await readAll<{ readonly owner: string }, ProjectRecord>(list);
    return found.map(({ name }) => ({ owner, project: name }));
  };
  const found = await Promise.all(
    (given ?? (await readOwn())).flatMap((address) =>
      PLACED.map(async (kind) => {
        const active = await activeIn(kind, address);
        return Promise.all(active.map((run) => placesOf(run).catch(orNone)));
      }),
    ),
  );
  return byNodeOf(found.flat(2), isComplete);
}

/** The names of the kinds of run that run on machines, themselves or by their jobs. */
const PLACED = [...runLists.values()].flatMap(({ target: { kind } }) =>
  kind.name === runs.experiment.name || kind.run.keys.includes("node_scheduled") ? [kind.name] : [],
);

const ActiveRun = objectType<OnNode>("ActiveRun", "An active run on a machine.", (t) => ({
  run: t.field(
    computedFrom(Run, "The experiment, job or build job.", ({ run }): Resource<RunnableRecord> => run),
  ),
  experimentJob: t.field({
    type: ExperimentJob,
    ...exposedOrNull(
      "experimentJob",
      "Job (replica) of the experiment that runs on the machine; null if the run is no experiment.",
    ),
  }),
  gpus: t.int(
    exposedOrNull(
      "gpus",
      "GPUs that the run requests on the machine; 0 if it requests none, null if its record does not say.",
    ),
  ),
}));

const ActiveRunsType = objectType<ActiveRuns>(
  "ActiveRuns",
  "The active runs on a machine, of the projects that were searched.",
  (t) => ({
    runs: t.field({
      type: [ActiveRun],
      ...exposed("runs", "The runs. An experiment is listed once for each of its jobs on the machine."),
    }),
    gpusInUse: t.int(
      exposedOrNull(
        "gpusInUse",
        "Sum of the GPUs that these runs request; null if the number of one run is not known.",
      ),
    ),
    isComplete: t.boolean(
      exposed(
        "isComplete",
        "Whether all active runs of these projects were read. Projects that the caller may not see can also have runs on the machine.",
      ),
    ),
  }),
);

const { child } = fieldsOf(Node.kind);

const activeRunsArgs = {
  projects: arg.idList({
    description: `Projects that are searched, by id or name, at most ${MAX_IDS}. Default: those of the caller.`,
  }),
};

builder.objectField(Node, "activeRuns", (t) =>
  t.field({
    type: ActiveRunsType,
    args: activeRunsArgs,
    ...child(
      `Runs in the phase \`ACTIVE\` that were scheduled on the machine. All machines of an operation share one search. It takes two requests for the projects of the caller, three for each project, one for each active experiment, and one for each other active run whose list does not name its machine.${requires(projects.optional.list)}`,
      async (
        { address: { name } },
        { projects: ids }: InputShapeFromFields<typeof activeRunsArgs>,
        context: Context,
      ) => {
        if (ids) within("projects", ids.length, { from: 1, to: MAX_IDS });
        const given =
          ids?.map((id, index) => resolveId(Project.kind, `projects[${index}]`, id).address) ?? null;
        const found = await context.once(`active runs ${JSON.stringify(given)}`, () =>
          readActiveRuns(given, context),
        );
        return found.byNode.get(name) ?? { runs: [], gpusInUse: 0, isComplete: found.isComplete };
      },
      // Neither the projects nor their runs prove that the machine exists.
      () => false,
    ),
  }),
);
