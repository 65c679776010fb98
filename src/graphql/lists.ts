import { type ObjectRef } from "@pothos/core";
import { UpstreamError } from "../rest/errors.ts";
import { builder, type PothosTypes } from "./builder.ts";
import { type Connection, connectionOf, pageArgs } from "./connection.ts";
import { BuildJob, Experiment, Group, Job, Project } from "./refs.ts";

/*
 * Lists of runs. The service's document shows none, but no frontend lives without them: the fields are always in
 * the schema, so that generated code and composition do not depend on a deployment.
 */

const RunOrder = builder.enumType("RunOrder", {
  description: "Orders of a list of runs. Honoured where the server takes an order.",
  values: {
    UPDATED_DESC: { description: "Newest change first." },
    CREATED_DESC: { description: "Newest first." },
    CREATED_ASC: { description: "Oldest first." },
  },
});

export const ExperimentConnection = connectionOf("Experiment", Experiment, "A page of experiments.");
export const JobConnection = connectionOf("Job", Job, "A page of jobs.");
export const BuildJobConnection = connectionOf("BuildJob", BuildJob, "A page of build jobs.");
export const GroupConnection = connectionOf("Group", Group, "A page of groups.");
const ProjectConnection = connectionOf("Project", Project, "A page of projects.");

const unavailable = (): never => {
  throw new UpstreamError(
    "CAPABILITY_UNAVAILABLE",
    "This server's document shows no lists: expected a field that needs no capability. `gateway.capabilities` tells which there are.",
  );
};

/** A list of runs: `experiments: t.field(runList(ExperimentConnection, "Experiments of the project."))`. */
export const runList = <Node>(type: ObjectRef<PothosTypes, Connection<Node>>, description: string) => ({
  type,
  description: `${description} Needs the capability \`LISTS\`.`,
  args: builder.args((t) => ({
    ...pageArgs,
    orderBy: t.field({ type: RunOrder, description: "Order; the server's own when omitted." }),
    query: t.string({
      description: "Filter in the server's own language, such as `status:running`. Passed on as it is.",
    }),
  })),
  resolve: unavailable,
});

/** A list of projects. */
export const projectList = (description: string) => ({
  type: ProjectConnection,
  description: `${description} Needs the capability \`LISTS\`.`,
  args: pageArgs,
  resolve: unavailable,
});
