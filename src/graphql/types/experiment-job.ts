import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { toResource } from "../core/resource.ts";
import { lookUp } from "../core/look-up.ts";
import { Entity, Experiment, ExperimentJob, Loggable, Node, Trackable } from "../core/refs.ts";

const { property, reference, fromAddress } = fieldsOf(ExperimentJob.kind);

/** Source: service document, "Experiment job record". */
ExperimentJob.implement({
  description: "One job (replica) of an experiment. Not to be confused with `Job`.",
  interfaces: [Entity, Trackable, Loggable],
  fields: (t) => ({
    role: t.string({
      description: "Part it plays, such as `master`. The allowed values are not stated by the service.",
      ...property("role"),
    }),
    experiment: t.field({
      type: Experiment,
      description: "The experiment it belongs to. Its id costs no request.",
      ...fromAddress(({ address: { owner, project, experiment: id } }) =>
        toResource(Experiment.kind, { owner, project, id }),
      ),
    }),
    resources: t.field({
      type: "JSON",
      description: "Requested resources. The shape is not stated by the service.",
      ...property("resources"),
    }),
    nodeScheduled: t.field({
      description: "Machine it was scheduled on.",
      ...reference("node_scheduled", Node),
    }),
  }),
});

builder.queryField("experimentJob", (t) => t.field(lookUp(ExperimentJob, "A job of an experiment.")));
