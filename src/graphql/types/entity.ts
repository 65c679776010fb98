import type { FieldExtensions } from "../../engine/field-source.ts";
import { builder } from "../core/builder.ts";
import { MAX_IDS, within } from "../core/connection.ts";
import { ANY_KIND, identifyAny } from "../core/ids.ts";
import { Entity } from "../core/refs.ts";
import { unverified } from "../core/resource.ts";

builder.queryFields((t) => ({
  entity: t.field({
    type: Entity,
    description: "Any object by its id. Whether a user exists is not checked.",
    args: { id: t.arg.id({ required: true, description: ANY_KIND }) },
    resolve: (_, { id }) => unverified(identifyAny("id", id)),
  }),
  entities: t.field({
    type: [Entity],
    nullable: { list: false, items: true },
    description: "Objects by their ids, in the same order; null with an error for one that fails.",
    extensions: { itemsOf: "ids" } satisfies FieldExtensions,
    args: {
      ids: t.arg.idList({ required: true, description: `At most ${MAX_IDS} global ids or unique names.` }),
    },
    resolve: (_, { ids }) => {
      within("ids", ids.length, { from: 0, to: MAX_IDS });
      // A separate promise for each, so that an invalid id is a single null.
      return ids.map(async (id, index) => unverified(identifyAny(`ids[${index}]`, id)));
    },
  }),
}));
