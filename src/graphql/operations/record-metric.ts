import type { Command } from "../../rest/api/endpoint.ts";
import type { NewMetric } from "../../rest/api/kinds.ts";
import { InputError } from "../../errors.ts";
import type { MetricRecord as MetricRow } from "../../rest/api/records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder } from "../core/builder.ts";
import { withId } from "../core/ids.ts";
import { type ChildOf, Experiment, MetricRecord } from "../core/refs.ts";
import { payloadTitle, payloadOf, type AddMutation } from "./mutations.ts";
import { targetOf } from "./named-run.ts";

const MetricValueInput = builder.inputType("MetricValueInput", {
  description: "A metric and its value.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name of the metric." }),
    value: t.float({ required: true, description: "Value: a finite number." }),
  }),
});

const CreateExperimentMetricInput = builder.inputType("CreateExperimentMetricInput", {
  description: "Metric values to record.",
  fields: (t) => ({
    values: t.field({
      type: [MetricValueInput],
      required: true,
      description: "Values: at least one, each name once.",
    }),
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

/** Records metric values of an experiment. */
export const recordMetric =
  (endpoint: Command<RunAddress, MetricRow, NewMetric>, description: string): AddMutation =>
  (name) => {
    const type = payloadOf<ChildOf<typeof Experiment.$inferType, MetricRow>>(name).implement({
      description: payloadTitle(name),
      fields: (t) => ({
        metric: t.field({
          type: MetricRecord,
          description: "The new metric record.",
          resolve: (outcome) => outcome,
        }),
        experiment: t.field({
          type: Experiment,
          description: "Experiment that it belongs to.",
          resolve: ({ parent }) => parent,
        }),
      }),
    });
    builder.mutationField(name, (t) =>
      t.field({
        type,
        description,
        args: {
          ...withId(Experiment),
          input: t.arg({
            type: CreateExperimentMetricInput,
            required: true,
            description: "Metric values to record.",
          }),
        },
        resolve: async (_, { id, input }, context) => {
          const values = valuesOf(input.values);
          const parent = await targetOf(Experiment.kind, id, context);
          return { parent, record: await context.session.send(endpoint, parent.address, { values }) };
        },
      }),
    );
  };
