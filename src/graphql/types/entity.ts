import type { FieldExtensions } from "../../engine/field-source.ts";
import { builder } from "../core/builder.ts";
import { MAX_IDS, within } from "../core/connection.ts";
import { ANY_OBJECT, identifyAny, identifyOfKind } from "../core/ids.ts";
import { Entity } from "../core/refs.ts";
import { unverified } from "../core/resource.ts";
import { kindArg, kindOf } from "./run-kind.ts";

builder.queryFields((t) => ({
  entity: t.field({
    type: Entity,
    description:
      "An object by its global id or unique name. Null with an error if it does not exist. Whether a `User` exists is not checked, and whether a `Project` exists only when a field of its record is selected: the service's API has no endpoint for them.",
    args: { id: t.arg.id({ required: true, description: ANY_OBJECT }) },
    resolve: (_, { id }) => unverified(identifyAny("id", id)),
  }),
  entities: t.field({
    type: [Entity],
    nullable: { list: false, items: true },
    description:
      "Objects by their global ids or unique names, in the same order. Each is looked up as by `entity(id:)` and null with an error if it cannot be loaded.",
    extensions: { itemsOf: "ids" } satisfies FieldExtensions,
    args: {
      ids: t.arg.idList({
        required: true,
        description: `Global ids or unique names, at most ${MAX_IDS} (\`gateway.limits.maxIds\`): such as \`ada.mnist.jobs.3\`. A name that an experiment and a group can have needs \`kind\`; a global id tells its own.`,
      }),
      ...kindArg,
    },
    resolve: (_, { ids, kind }) => {
      within("ids", ids.length, { from: 0, to: MAX_IDS });
      // A separate promise for each, so that an invalid id is a single null.
      return ids.map(async (id, index) => unverified(identifyOfKind(`ids[${index}]`, id, kindOf(kind))));
    },
  }),
}));
