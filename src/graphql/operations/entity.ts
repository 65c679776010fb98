import type { FieldExtensions } from "../../engine/field-source.ts";
import { builder } from "../core/builder.ts";
import { within } from "../core/connection.ts";
import { decodeId, identifyRun } from "../core/ids.ts";
import { Entity, Run } from "../core/refs.ts";
import { unverified } from "../core/resource.ts";

/** Maximum ids of one `entities` field. */
const MAX_IDS = 100;

builder.queryFields((t) => ({
  entity: t.field({
    type: Entity,
    description:
      "Anything by its global id. Null with an error when there is none. Of a `Project` or a `User` the service has no endpoint that tells: the answer does not say that it exists.",
    args: { id: t.arg.id({ required: true, description: "Global id." }) },
    resolve: (_, { id }, { names }) => unverified(decodeId("id", id, names)),
  }),
  entities: t.field({
    type: [Entity],
    nullable: { list: false, items: true },
    description:
      "Several things by their global ids, in the same order; each as `entity(id:)` finds it, null where one cannot be had.",
    extensions: { itemsOf: "ids" } satisfies FieldExtensions,
    args: { ids: t.arg.idList({ required: true, description: "Global ids, at most 100." }) },
    resolve: (_, { ids }, { names }) => {
      within("ids", ids.length, { from: 0, to: MAX_IDS });
      // A separate promise for each, so that an invalid id is a single null.
      return ids.map(async (id, index) => unverified(decodeId(`ids[${index}]`, id, names)));
    },
  }),
  run: t.field({
    type: Run,
    description: "Any run by its global id. Null with an error when there is none.",
    args: { id: t.arg.id({ required: true, description: "Global id." }) },
    resolve: (_, { id }, { names }) => unverified(identifyRun("id", id, names)),
  }),
}));
