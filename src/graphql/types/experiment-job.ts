import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { handle } from "../core/resource.ts";
import { prefetch } from "../core/prefetch.ts";
import { lookUp } from "../core/look-up.ts";
import { Entity, Experiment, ExperimentJob, Loggable, Node, Trackable } from "../core/refs.ts";

const { value, link, known } = fieldsOf(ExperimentJob.kind);

/** Source: service document, "Experiment job record". */
ExperimentJob.implement({
  description: "One job (replica) of an experiment. Not to be confused with `Job`.",
  interfaces: [Entity, Trackable, Loggable],
  fields: (t) => ({
    role: t.string({
      description: "Part it plays, such as `master`. The allowed values are not stated by the service.",
      ...value("role"),
    }),
    experiment: t.field({
      type: Experiment,
      description: "The experiment it belongs to. Its id costs no request.",
      ...known(({ at: { owner, project, experiment: id } }, _, context, info) =>
        prefetch(handle(Experiment.kind, { owner, project, id }), context, info),
      ),
    }),
    resources: t.field({
      type: "JSON",
      description: "Requested resources. The shape is not stated by the service.",
      ...value("resources"),
    }),
    nodeScheduled: t.field({ description: "Machine it was scheduled on.", ...link("node_scheduled", Node) }),
  }),
});

builder.queryField("experimentJob", (t) => t.field(lookUp(ExperimentJob, "A job of an experiment.")));
