import { runs } from "../../rest/api/kinds.ts";
import { Job, resourceType } from "../core/refs.ts";
import { cloned, command, MAKES_ANOTHER } from "../core/mutations.ts";
import { nodeScheduled, cloneableFields } from "./shared-run-fields.ts";

/** Source: service document, "Job". */
resourceType(Job, "A job that runs on its own, not as part of an experiment.", (t) => ({
  ...cloneableFields(t, Job),
  nodeScheduled: t.field(nodeScheduled),
}));

command("restartJob", runs.job.endpoints.restart, {
  target: Job,
  description: `Restarts a job as a new record, which starts. ${MAKES_ANOTHER}`,
  resultOf: cloned,
});
