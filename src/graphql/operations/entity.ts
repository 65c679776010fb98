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
      "An object by its global id. Null with an error if it does not exist. Whether a `User` exists is not checked, and whether a `Project` exists only when a field of its record is selected: the service's API has no endpoint for them.",
    args: { id: t.arg.id({ required: true, description: "Global id." }) },
    resolve: (_, { id }, { names }) => unverified(decodeId("id", id, names)),
  }),
  entities: t.field({
    type: [Entity],
    nullable: { list: false, items: true },
    description:
      "Objects by their global ids, in the same order. Each is looked up as by `entity(id:)` and null with an error if it cannot be loaded.",
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
    description: "Any run by its global id. Null with an error if it does not exist.",
    args: { id: t.arg.id({ required: true, description: "Global id." }) },
    resolve: (_, { id }, { names }) => unverified(identifyRun("id", id, names)),
  }),
}));
