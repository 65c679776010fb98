import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { toResource } from "../core/resource.ts";
import { lookUp } from "../core/ids.ts";
import { Entity, Experiment, ExperimentJob, Loggable, Trackable } from "../core/refs.ts";
import { nodeScheduled, resources } from "./workload.ts";

const { property, fromAddress } = fieldsOf(ExperimentJob.kind);

/** Source: service document, "Experiment job record". */
ExperimentJob.implement({
  description: "A job (replica) of an experiment. Not a `Job`.",
  interfaces: [Entity, Trackable, Loggable],
  fields: (t) => ({
    role: t.string({ description: "Role, such as `master`.", ...property("role") }),
    experiment: t.field({
      type: Experiment,
      description: "Its experiment.",
      ...fromAddress(({ address: { owner, project, experiment: id } }) =>
        toResource(Experiment.kind, { owner, project, id }),
      ),
    }),
    resources: t.field(resources),
    nodeScheduled: t.field(nodeScheduled),
  }),
});

builder.queryField("experimentJob", (t) =>
  t.field(lookUp(ExperimentJob, "A job of an experiment by its id.")),
);
