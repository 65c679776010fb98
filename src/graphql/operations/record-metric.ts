import type { NewMetric } from "../../rest/api/kinds.ts";
import { runs } from "../../rest/api/kinds.ts";
import { InputError } from "../../errors.ts";
import { builder } from "../core/builder.ts";
import { withId } from "../core/ids.ts";
import { Experiment, MetricRecord } from "../core/refs.ts";
import { targetOf } from "./mutations.ts";

const MetricValueInput = builder.inputType("MetricValueInput", {
  description: "A metric and its value.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name of the metric." }),
    value: t.float({ required: true, description: "A finite number." }),
  }),
});

const CreateExperimentMetricInput = builder.inputType("CreateExperimentMetricInput", {
  description: "Metric values to record together.",
  fields: (t) => ({
    values: t.field({ type: [MetricValueInput], required: true, description: "At least one, each once." }),
  }),
});

interface NamedNumber {
  readonly name: string;
  readonly value: number;
}

/** Converts the input to values by name. Throws `InputError`. */
function valuesOf(given: readonly NamedNumber[]): NewMetric["values"] {
  if (given.length === 0) throw new InputError("input.values: expected at least one metric, got none");
  const seen = new Set<string>();
  for (const [index, { name, value }] of given.entries()) {
    const place = `input.values[${index}].name`;
    if (name.trim() === "") throw new InputError(`${place}: expected a name, got ${JSON.stringify(name)}`);
    if (seen.has(name))
      throw new InputError(`${place}: expected each name once, got ${JSON.stringify(name)} again`);
    if (!Number.isFinite(value)) {
      throw new InputError(`input.values[${index}].value: expected a finite number, got ${value}`);
    }
    seen.add(name);
  }
  return Object.fromEntries(given.map(({ name, value }) => [name, value]));
}

const MetricPayload = builder
  .objectRef<typeof MetricRecord.$inferType>("CreateExperimentMetricPayload")
  .implement({
    description: "Payload of `createExperimentMetric`.",
    fields: (t) => ({
      metric: t.field({ type: MetricRecord, description: "The new record.", resolve: (metric) => metric }),
    }),
  });

builder.mutationField("createExperimentMetric", (t) =>
  t.field({
    type: MetricPayload,
    description: "Records metric values of an experiment.",
    args: {
      ...withId(Experiment),
      input: t.arg({ type: CreateExperimentMetricInput, required: true, description: "The values." }),
    },
    resolve: async (_, { id, input }, context) => {
      const values = valuesOf(input.values);
      const parent = await targetOf(Experiment.kind, id, context);
      const { createMetric } = runs.experiment.endpoints;
      return { parent, record: await context.session.send(createMetric, parent.address, { values }) };
    },
  }),
);
