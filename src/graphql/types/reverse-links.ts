import { notOffered } from "../../rest/api/endpoint.ts";
import type { RunKind } from "../../rest/api/kind.ts";
import { runs } from "../../rest/api/kinds.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { Experiment, Job } from "../core/refs.ts";
import { findRows, isInRows, valueOf } from "./find-rows.ts";
import { runList, runListOf } from "./run-list.ts";

/* Links against the direction of references: lists of the runs that refer to one. */

/** The runs that name a build job, found by the server. */
const ofBuild = (target: typeof Experiment | typeof Job, { many }: RunKind) =>
  runList(runListOf(target.kind), `The ${many} that use the image. Requires \`FILTERS\`.`, {
    narrowedTo: ({ id }: RunAddress) => ({
      name: "",
      conditions: [{ argument: "build", key: "build", operator: "anyOf", operands: [id] }],
    }),
  });

export const experimentsOfBuild = ofBuild(Experiment, runs.experiment);
export const jobsOfBuild = ofBuild(Job, runs.job);

const { kind } = Experiment;

/** The experiments that name one as their original, found by a scan: servers have no filter for it. */
export const clones = runList(
  runListOf(kind),
  "Experiments that were restarted, resumed or copied from this one, found by a scan of the project: see `ListScan`.",
  {
    narrowedTo: ({ owner, project, id }: RunAddress, { server }) => {
      if (!isInRows(server, runs.experiment.records, "original")) throw notOffered("clones of experiments");
      const find = findRows((row) => {
        const name = valueOf(row, "original");
        const original = typeof name === "string" ? kind.parseName(name) : null;
        return original?.id === id && original.owner === owner && original.project === project;
      });
      return { conditions: [], find, name: `clones of ${id}` };
    },
  },
);
