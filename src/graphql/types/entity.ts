import type { FieldExtensions } from "../../engine/field-extensions.ts";
import { arg, root } from "../core/builder.ts";
import { MAX_IDS, within } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { ALL, ANY_KIND, findAmong } from "../core/ids.ts";
import { Entity, Project } from "../core/refs.ts";
import { fetchMore, type Resource } from "../core/resource.ts";

/* The root fields `entity` and `entities`, which look up objects of any kind. */

/** Finds the resource of an id or name. Reads a project if the server supports that, because prefetching does not verify projects. */
async function findEntity(argument: string, id: string, { session }: Context): Promise<Resource> {
  const resource = await findAmong(ALL, argument, id, session);
  const isReadable = session.server.capabilities.includes("PROJECT_RECORDS");
  return resource.kind.name === Project.kind.name && isReadable
    ? fetchMore(resource, ["name"], session)
    : resource;
}

root.query("entity", {
  type: Entity,
  description: "Any object by its id. The existence of a user is not checked.",
  args: { id: arg.id({ required: true, description: ANY_KIND }) },
  resolve: (_, { id }, context) => findEntity("id", id, context),
});

root.query("entities", {
  type: [Entity],
  nullable: { list: false, items: true },
  description: "Objects by their ids, in the same order; null with an error for one that fails.",
  extensions: { itemsOf: "ids" } satisfies FieldExtensions,
  args: {
    ids: arg.idList({ required: true, description: `At most ${MAX_IDS}, each as \`entity\` takes it.` }),
  },
  resolve: (_, { ids }, context) => {
    within("ids", ids.length, { from: 0, to: MAX_IDS });
    // Each id has its own promise, so an invalid id causes a single null.
    return ids.map((id, index) => findEntity(`ids[${index}]`, id, context));
  },
});
