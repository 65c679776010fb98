import { runs } from "../../rest/api/kinds.ts";
import { GROUP_COUNTERS, type GroupRecord, openHptuning } from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder } from "../core/builder.ts";
import { fieldsOf } from "../core/fields.ts";
import { metricsUrl, runsUrl } from "./exports.ts";
import { HyperparameterTuning } from "./hptuning.ts";
import { runList, runListOf } from "./run-list.ts";
import { Entity, Experiment, Group, Run, Trackable } from "../core/refs.ts";
import { readme } from "./workload.ts";

const ExperimentCounts = builder
  .objectRef<Partial<Pick<GroupRecord, (typeof GROUP_COUNTERS)[number]>>>("ExperimentCounts")
  .implement({
    description: "Numbers of experiments by state, as the service counts them. They can overlap.",
    fields: (t) => ({
      total: t.exposeInt("num_experiments", { nullable: true, description: "All experiments." }),
      pending: t.exposeInt("num_pending_experiments", { nullable: true, description: "Waiting." }),
      running: t.exposeInt("num_running_experiments", { nullable: true, description: "Running." }),
      scheduled: t.exposeInt("num_scheduled_experiments", { nullable: true, description: "Scheduled." }),
      succeeded: t.exposeInt("num_succeeded_experiments", { nullable: true, description: "Succeeded." }),
      failed: t.exposeInt("num_failed_experiments", { nullable: true, description: "Ended with an error." }),
      stopped: t.exposeInt("num_stopped_experiments", { nullable: true, description: "Stopped." }),
    }),
  });

const { property, computed } = fieldsOf(Group.kind);

/** Source: service document, "Experiment group". */
Group.implement({
  description: "A group of experiments: a hyperparameter search.",
  interfaces: [Entity, Trackable, Run],
  fields: (t) => ({
    groupType: t.string({
      description: "Such as `study` (a search) or `selection` (experiments that somebody chose).",
      ...property("group_type"),
    }),
    readme: t.string(readme),
    concurrency: t.int({ description: "Experiments that may run at a time.", ...property("concurrency") }),
    searchAlgorithm: t.string({ description: "Such as `random`.", ...property("search_algorithm") }),
    currentIteration: t.int({ description: "Iteration of the search.", ...property("current_iteration") }),
    content: t.string({ description: "Its specification as text.", ...property("content") }),
    hptuning: t.field({
      type: HyperparameterTuning,
      description: "Settings of the search.",
      ...computed(["hptuning"], ({ hptuning }) => (hptuning ? openHptuning(hptuning) : null)),
    }),
    experimentCounts: t.field({
      type: ExperimentCounts,
      description: "Numbers of experiments by state.",
      ...computed(GROUP_COUNTERS, (record) => record),
    }),
    hasTensorboard: t.boolean({ description: "Whether a TensorBoard runs.", ...property("has_tensorboard") }),
    runsUrl: t.string(runsUrl),
    metricsUrl: t.string(metricsUrl),
    experiments: t.field(
      runList(runListOf(Experiment.kind), "Experiments of the group.", {
        groupOf: (at: RunAddress) => at,
        prefetchList: (at, { session }, isSelected) => {
          if (["metrics", "metricSeries", "metricSummaries"].some(isSelected)) {
            session.prefetchList(runs.experiment.endpoints.metrics, { at, group: at });
          }
        },
      }),
    ),
  }),
});
