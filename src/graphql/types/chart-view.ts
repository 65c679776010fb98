import { InputError } from "../../errors.ts";
import type { NewChartView } from "../../rest/api/kind.ts";
import { runs } from "../../rest/api/kinds.ts";
import type { ChartViewRecord } from "../../rest/api/optional-records.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { slice } from "../../rest/session/pages.ts";
import { builder } from "../core/builder.ts";
import { connect, connectionOf, type PageArgs, pageArgs, sliceRequest } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { fieldsOf } from "../core/fields.ts";
import { entryIds } from "../core/entry-ids.ts";
import { decodeRecordId, identify, requires, withId } from "../core/ids.ts";
import { Experiment, Group, Run } from "../core/refs.ts";
import type { Resource } from "../core/resource.ts";
import {
  type AddMutation,
  mutations,
  payloadOf,
  payloadTitle,
  removeRecord,
} from "../operations/mutations.ts";

/*
 * Chart views: what a frontend keeps of how the metrics of an experiment or a group are drawn.
 */

/** The kinds of run with chart views. */
const CHARTED = [runs.experiment, runs.group] as const;

interface View {
  readonly run: Resource<object, RunAddress>;
  readonly record: ChartViewRecord;
}

const PARAMETERS = ["owner", "project", "kind", "id", "view"] as const;

const ChartView = builder.objectRef<View>("ChartView").implement({
  description: "A saved choice of charts of an experiment or a group. Clients decide what is in it.",
  fields: (t) => ({
    ...entryIds(t, {
      type: "ChartView",
      use: "for `deleteChartView` and for client caches. A chart view cannot be looked up by it.",
      within: ({ run: { kind, address } }) => [
        address.owner,
        address.project,
        kind.run?.records ?? "",
        address.id,
      ],
      number: ({ record }) => record.id,
    }),
    uuid: t.string({
      description: "Identifier in the tracking service.",
      resolve: ({ record }) => record.uuid ?? null,
    }),
    name: t.string({ description: "Name.", resolve: ({ record }) => record.name ?? null }),
    charts: t.field({
      type: "JSON",
      description: "The charts. Their shape is that of the client that saved them; usually a list.",
      resolve: ({ record }) => record.charts ?? null,
    }),
    meta: t.field({
      type: "JSON",
      description: "What the client keeps beside the charts, such as how they are smoothed.",
      resolve: ({ record }) => record.meta ?? null,
    }),
    createdAt: t.field({
      type: "DateTime",
      description: "Time of creation.",
      resolve: ({ record }) => record.created_at ?? null,
    }),
    updatedAt: t.field({
      type: "DateTime",
      description: "Time of the last change.",
      resolve: ({ record }) => record.updated_at ?? null,
    }),
    run: t.field({
      type: Run,
      description: "The experiment or group. Its id costs no upstream request.",
      // Safe: experiments and groups are runs.
      resolve: ({ run }) => run as typeof Experiment.$inferType,
    }),
  }),
});

const ChartViewConnection = connectionOf("ChartView", ChartView, "A page of chart views.");

const CreateChartViewInput = builder.inputType("CreateChartViewInput", {
  description: "A chart view.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name." }),
    charts: t.field({ type: "JSON", required: true, description: "The charts, in any shape." }),
    meta: t.field({ type: "JSON", description: "What the client wants to keep beside the charts." }),
  }),
});

const viewBody = ({ name, charts, meta }: typeof CreateChartViewInput.$inferInput): NewChartView => ({
  name,
  charts,
  ...(meta != null && { meta }),
});

/** Adds the field `chartViews` of a kind of run, and the mutation that creates one. */
function addChartViews(
  target: typeof Experiment | typeof Group,
  { name, one, optional }: (typeof CHARTED)[number],
) {
  const { chartViews: endpoint, createChartView: create } = optional;
  builder.objectField(target, "chartViews", (t) =>
    t.field({
      type: ChartViewConnection,
      description: `Chart views of ${one}.${requires(endpoint)}`,
      args: pageArgs,
      ...fieldsOf<object, RunAddress>().child(async (run, args: PageArgs, context: Context) => {
        const page = await slice(
          context.session,
          { endpoint, address: run.address },
          sliceRequest(args, context),
        );
        return connect(page, (record) => ({ run, record }));
      }),
    }),
  );
  const createChartView: AddMutation = (mutation) => {
    const type = payloadOf<View>(mutation).implement({
      description: payloadTitle(mutation),
      fields: (t) => ({
        chartView: t.field({
          type: ChartView,
          nullable: false,
          description: "The new chart view.",
          resolve: (view) => view,
        }),
      }),
    });
    builder.mutationField(mutation, (t) =>
      t.field({
        type,
        description: `Saves a chart view of ${one}.${requires(create)}`,
        args: {
          ...withId(target),
          input: t.arg({ type: CreateChartViewInput, required: true, description: "The chart view." }),
        },
        resolve: async (_, { id, input }, { session }) => {
          const run = identify<object, RunAddress>(target.kind, "id", id);
          return { run, record: await session.send(create, run.address, viewBody(input)) };
        },
      }),
    );
  };
  mutations({ [`create${name}ChartView`]: createChartView });
}

addChartViews(Experiment, runs.experiment);
addChartViews(Group, runs.group);

mutations({
  deleteChartView: removeRecord(
    "chart view",
    runs.experiment.optional.deleteChartView,
    async (id, { session }) => {
      const address = decodeRecordId("ChartView", "id", id, PARAMETERS);
      const kind = CHARTED.find(({ records }) => records === address.kind);
      if (!kind) throw new InputError(`id: expected the id of a chart view, got one of ${address.kind}`);
      return session.send(kind.optional.deleteChartView, address, undefined);
    },
  ),
});
