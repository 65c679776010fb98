import { GatewayError, InputError, isGatewayError } from "../../errors.ts";
import { runs } from "../../rest/api/kinds.ts";
import type { MetricRecord as Metric } from "../../rest/api/records.ts";
import { arg, builder, computedFromOrNull, objectType, root } from "../core/builder.ts";
import { MAX_IDS } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { withId } from "../core/ids.ts";
import { targetOf } from "../core/mutations.ts";
import { Experiment, type ExperimentResource, MetricRecord } from "../core/refs.ts";
import { orError, payloadOfSeveral, resultFields } from "./command-outcome.ts";

/* The mutation that records metrics of an experiment. The service accepts one record per request. */

const MetricValueInput = builder.inputType("MetricValueInput", {
  description: "A metric and its value.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name of the metric." }),
    value: t.float({ required: true, description: "A finite number." }),
  }),
});

const MetricRecordInput = builder.inputType("MetricRecordInput", {
  description: "Metric values to record together.",
  fields: (t) => ({
    values: t.field({
      type: [MetricValueInput],
      required: true,
      description: "At least one, each name once.",
    }),
  }),
});

type Values = Readonly<Record<string, number>>;

function valuesOf({ values: given }: typeof MetricRecordInput.$inferInput, record: number): Values {
  const at = `records[${record}].values`;
  if (given.length === 0) throw new InputError(`${at}: expected at least one metric, got none`);
  const values = new Map<string, number>();
  for (const [index, { name, value }] of given.entries()) {
    const path = `${at}[${index}]`;
    const got = JSON.stringify(name);
    if (name.trim() === "") throw new InputError(`${path}.name: expected a name, got ${got}`);
    if (values.has(name)) throw new InputError(`${path}.name: expected each name once, got ${got} again`);
    if (!Number.isFinite(value))
      throw new InputError(`${path}.value: expected a finite number, got ${value}`);
    values.set(name, value);
  }
  return Object.fromEntries(values);
}

const { createMetric } = runs.experiment.endpoints;

interface MetricResult {
  readonly result: { readonly isSent: true; readonly metric: typeof MetricRecord.$inferType } | GatewayError;
}

/** The error of each record after a failed one. These records are not sent: they would fail as well, or would be recorded out of order. */
const notReached = ({ code, details: { retryAfterSeconds } }: GatewayError) =>
  new GatewayError(code, "Not sent, because an earlier record was not recorded.", {
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });

/**
 * Sends records one by one, so that the service stores them in order. Stops at an error, unless the service has only refused the values of
 * that record.
 */
async function recordEach(
  parent: ExperimentResource,
  records: readonly Values[],
  { session }: Context,
): Promise<readonly MetricResult[]> {
  const results: MetricResult[] = [];
  let failed: GatewayError | null = null;
  for (const values of records) {
    const record: Metric | GatewayError = failed
      ? notReached(failed)
      : await orError(session.send(createMetric, parent.address, { values }));
    const isFailed = record instanceof GatewayError;
    if (isFailed && !isGatewayError(record, "BAD_USER_INPUT")) failed ??= record;
    results.push({ result: isFailed ? record : { isSent: true, metric: { parent, record } } });
  }
  return results;
}

const MetricRecordResult = objectType<MetricResult>(
  "MetricRecordResult",
  "The result of recording one of several metric records.",
  (t) => ({
    ...resultFields(t),
    metric: t.field(
      computedFromOrNull(
        MetricRecord,
        "The new record; null if it was not recorded.",
        ({ result }: MetricResult) => (result instanceof GatewayError ? null : result.metric),
      ),
    ),
  }),
);

const CreateExperimentMetricsPayload = payloadOfSeveral(
  "CreateExperimentMetricsPayload",
  "Payload of `createExperimentMetrics`.",
  "record",
  MetricRecordResult,
);

root.mutation("createExperimentMetrics", {
  type: CreateExperimentMetricsPayload,
  description:
    "Records metrics of an experiment. Costs a request for each record; they are sent one after the other, each at most once. If one fails for another reason than its own values, the records after it are `NOT_SENT`. Records that the server's rate limit would certainly reject are `NOT_SENT` as well (Polyaxon 0.4 accepts 20 in a second): send them again after `retryAfterSeconds`. Repeating it makes other records.",
  args: {
    ...withId(Experiment),
    records: arg.field({
      type: [MetricRecordInput],
      required: true,
      description: `1 to ${MAX_IDS} records, the oldest first.`,
    }),
  },
  resolve: async (_, { id, records }, context) => {
    if (records.length < 1 || records.length > MAX_IDS)
      throw new InputError(`records: expected 1 to ${MAX_IDS} records, got ${records.length}`);
    const values = records.map(valuesOf);
    context.session.requireToken();
    context.session.server.supported(createMetric);
    return recordEach(await targetOf(Experiment.kind, id, context), values, context);
  },
});
