import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { toResource } from "../core/resource.ts";
import { lookUp } from "../core/ids.ts";
import { Entity, Experiment, ExperimentJob, Loggable, Trackable } from "../core/refs.ts";
import { nodeScheduled, podId, resources } from "./workload.ts";

const { property, fromAddress } = fieldsOf(ExperimentJob.kind);

/** Source: service document, "Experiment job record". */
ExperimentJob.implement({
  description: "A job (replica) of an experiment. Not to be confused with `Job`.",
  interfaces: [Entity, Trackable, Loggable],
  fields: (t) => ({
    role: t.string({
      description: "Role, such as `master`. The service does not document the values.",
      ...property("role"),
    }),
    experiment: t.field({
      type: Experiment,
      description: "Experiment that it belongs to. Its id costs no upstream request.",
      ...fromAddress(({ address: { owner, project, experiment: id } }) =>
        toResource(Experiment.kind, { owner, project, id }),
      ),
    }),
    resources: t.field(resources),
    nodeScheduled: t.field(nodeScheduled),
    podId: t.string(podId),
    definition: t.field({
      type: "JSON",
      description:
        "Definition of the pod, as the cluster received it. The service does not document the shape. Null if the server does not report it.",
      ...property("definition"),
    }),
  }),
});

builder.queryField("experimentJob", (t) => t.field(lookUp(ExperimentJob, "A job of an experiment.")));
