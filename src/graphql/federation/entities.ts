import { printSubgraphSchema } from "@apollo/subgraph";
import type { InterfaceRef, ObjectRef } from "@pothos/core";
import { type GraphQLSchema, isUnionType } from "graphql";
import type { FieldExtensions } from "../../engine/field-source.ts";
import { InputError } from "../../errors.ts";
import { builder, type PothosTypes } from "../core/builder.ts";
import { within } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import { identify, identifyRun, named } from "../core/ids.ts";
import { resourceRefs, Run } from "../core/refs.ts";
import type { Address, Kind, Resource } from "../core/resource.ts";
import type { TypeNames } from "../core/type-names.ts";

/*
 * The schema as an Apollo Federation subgraph. Other subgraphs refer to our resources by global id or by name. A
 * representation becomes an ordinary resource; fields that follow from its key cause no request.
 */

type Representation = Readonly<Record<string, unknown>>;

/** Finds a resource by the value of a key field. Throws `InputError`. */
type Keys = Readonly<Record<string, (text: string, names: TypeNames) => Resource>>;

/** Finds the resource of a representation, by our name of the entity type. */
const finders = new Map<string, (representation: Representation, names: TypeNames) => Resource>();

/** Makes a type an entity with the keys `id` and its name field. */
function addEntity<R extends object, At extends Address>(
  target: ObjectRef<PothosTypes, Resource<R, At>> | InterfaceRef<PothosTypes, Resource<R, At>>,
  keys: Keys,
): void {
  const fields = Object.keys(keys);
  const find = (representation: Representation, names: TypeNames): Resource => {
    for (const [field, findBy] of Object.entries(keys)) {
      const text = representation[field];
      if (typeof text === "string") return findBy(text, names);
    }
    throw new InputError(`expected a text in ${fields.join(" or ")}, got none`);
  };
  finders.set(target.name, find);
  builder.asEntity(target, {
    key: fields.map((selection) => ({ ...builder.selection<Representation>(""), selection })),
    // Unused: `_entities` calls the finders itself.
    resolveReference: () => null,
  });
}

const keysOf = (kind: Kind): Keys => ({
  id: (id, names) => identify(kind, "id", id, names),
  ...(kind.nameField && { [kind.nameField]: (name: string) => named(kind, kind.nameField ?? "", name) }),
});

for (const ref of Object.values(resourceRefs)) addEntity(ref, keysOf(ref.kind));
// An entity interface: another subgraph adds fields to runs of all kinds by `type Run @interfaceObject`.
addEntity(Run, { id: (text, names) => identifyRun("id", text, names) });

/** Maximum representations of one `_entities` field. */
const MAX_REPRESENTATIONS = 1_000;

/**
 * Builds the schema with the federation fields, before renaming. Replaces the library's `_entities` resolver, in which an
 * unknown representation fails all others.
 */
export function toSubgraphSchema(): GraphQLSchema {
  const schema = builder.toSubGraphSchema({
    // The first version that supports keys on interfaces.
    linkUrl: "https://specs.apollo.dev/federation/v2.3",
    federationDirectives: ["@key", "@shareable"],
  });
  const { _entities: field } = schema.getQueryType()?.getFields() ?? {};
  const union = schema.getType("_Entity");
  if (!field || !isUnionType(union)) throw new TypeError("the schema is no subgraph");
  union.resolveType = ({ kind }: Resource) => kind.name;
  field.extensions = { ...field.extensions, itemsOf: "representations" } satisfies FieldExtensions;
  field.resolve = (_, { representations }: { representations: unknown[] }, { names }: Context) => {
    within("representations", representations.length, { from: 0, to: MAX_REPRESENTATIONS });
    // A separate promise for each, so that an invalid representation is a single null.
    return representations.map(async (given, index) => {
      const representation = (given ?? {}) as Representation;
      const find = finderOf(representation["__typename"], names);
      if (!find) throw new InputError(`representations[${index}]: expected the __typename of an entity`);
      return find(representation, names);
    });
  };
  return schema;
}

/** The finder of an entity type. Every kind is an entity, and so is the interface `Run`. */
function finderOf(typeName: unknown, names: TypeNames) {
  if (typeof typeName !== "string") return undefined;
  return finders.get(typeName === names.served(Run.name) ? Run.name : (names.ours(typeName) ?? ""));
}

/** Serves the SDL of the renamed schema in `_service`. */
export function serveSdl(schema: GraphQLSchema): GraphQLSchema {
  const { _service: service } = schema.getQueryType()?.getFields() ?? {};
  if (!service) throw new TypeError("the schema is no subgraph");
  let sdl: string | undefined;
  service.resolve = () => ({ sdl: (sdl ??= printSubgraphSchema(schema)) });
  return schema;
}
