import type { Multiplied } from "../limits/selection.ts";
import { builder } from "./builder.ts";
import { within } from "./connection.ts";
import { decodeId, identifyRun } from "./ids.ts";
import { arrive } from "./look-ahead.ts";
import { Entity, Run } from "./refs.ts";

/** Most ids of one `entities` field. */
const MOST_IDS = 100;

builder.queryFields((t) => ({
  entity: t.field({
    type: Entity,
    description: "Anything by its global id.",
    args: { id: t.arg.id({ required: true, description: "Global id." }) },
    resolve: (_, { id }, context, info) => arrive(decodeId("id", id, context.names), context, info),
  }),
  entities: t.field({
    type: [Entity],
    nullable: { list: false, items: true },
    description: "Several things by their global ids, in the same order; null where one cannot be had.",
    extensions: { itemsOf: "ids" } satisfies Multiplied,
    args: { ids: t.arg.idList({ required: true, description: "Global ids, at most 100." }) },
    resolve: (_, { ids }, context, info) => {
      within("ids", ids.length, { from: 0, to: MOST_IDS });
      return ids.map(async (id, index) =>
        arrive(decodeId(`ids[${index}]`, id, context.names), context, info),
      );
    },
  }),
  run: t.field({
    type: Run,
    description: "Any run by its global id.",
    args: { id: t.arg.id({ required: true, description: "Global id." }) },
    resolve: (_, { id }, context, info) => arrive(identifyRun("id", id, context.names), context, info),
  }),
}));
