import { type GraphQLSchema, specifiedDirectives } from "graphql";
import type { FieldExtensions } from "../../engine/field-source.ts";
import { InputError } from "../../errors.ts";
import { builder } from "../core/builder.ts";
import { within } from "../core/connection.ts";
import { identify, identifyRun, named } from "../core/ids.ts";
import { defer, stream } from "../core/incremental.ts";
import { resourceRefs, Run } from "../core/refs.ts";
import type { Kind, Resource } from "../core/resource.ts";
import type { TypeNames } from "../core/kinds.ts";
import { printSubgraph } from "./sdl.ts";

/*
 * The schema as an Apollo Federation subgraph. Other subgraphs refer to our resources by global id or by name. A
 * representation becomes an ordinary resource; fields that follow from its key cause no request. Own code instead of
 * Pothos' federation plugin, which fails all representations when one is unknown, and needs Apollo's printer, whose license
 * is not permissive.
 */

type Representation = Readonly<Record<string, unknown>>;

/** Finds a resource by the value of a key field. Throws `InputError`. */
type Keys = Readonly<Record<string, (text: string, names: TypeNames) => Resource>>;

/** Finds the resource of a representation, by the name of the entity type in the code. */
const finders = new Map<string, (representation: Representation, names: TypeNames) => Resource>();

/** Key fields of the entity types, by their names in the code. */
const keyFields = new Map<string, readonly string[]>();

/** Makes a type an entity with the keys `id` and its name field. */
function addEntity({ name }: { readonly name: string }, keys: Keys): void {
  const fields = Object.keys(keys);
  keyFields.set(name, fields);
  finders.set(name, (representation, names) => {
    for (const [field, findBy] of Object.entries(keys)) {
      const text = representation[field];
      if (typeof text === "string") return findBy(text, names);
    }
    throw new InputError(`expected a text in ${fields.join(" or ")}, got none`);
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

builder.scalarType("_Any", { serialize: (value) => value });

const EntityUnion = builder.unionType("_Entity", {
  types: Object.values(resourceRefs),
  resolveType: ({ kind }) => kind.name,
});

const Service = builder.objectRef<{ readonly sdl: string }>("_Service").implement({
  fields: (t) => ({
    sdl: t.exposeString("sdl", {
      nullable: true,
      description: "The schema in SDL, with the directives of federation and without its own types.",
    }),
  }),
});

builder.queryFields((t) => ({
  _entities: t.field({
    type: [EntityUnion],
    nullable: { list: false, items: true },
    args: { representations: t.arg({ type: ["_Any"], required: true }) },
    // A router maps the errors of each representation to its own result, so it needs one for each.
    extensions: { itemsOf: "representations", errorsStaySeparate: true } satisfies FieldExtensions,
    resolve: (_, { representations }, { names }) => {
      within("representations", representations.length, { from: 0, to: MAX_REPRESENTATIONS });
      // A separate promise for each, so that an invalid representation is a single null.
      return representations.map(async (given, index) => {
        const representation = (given ?? {}) as Representation;
        const find = finderOf(representation["__typename"], names);
        if (!find) throw new InputError(`representations[${index}]: expected the __typename of an entity`);
        return find(representation, names);
      });
    },
  }),
  _service: t.field({
    type: Service,
    nullable: false,
    resolve: () => {
      throw new TypeError("expected a resolver of `serveSdl`");
    },
  }),
}));

/** The finder of an entity type. Every kind is an entity, and so is the interface `Run`. */
function finderOf(typeName: unknown, names: TypeNames) {
  if (typeof typeName !== "string") return undefined;
  return finders.get(typeName === names.publicName(Run.name) ? Run.name : (names.kindNamed(typeName) ?? ""));
}

/** The first version that supports keys on interfaces. */
const LINK = { url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "@shareable"] };

/** Builds the schema with the directives of federation, where the printer of the SDL reads them. */
export function toSubgraphSchema(): GraphQLSchema {
  const directives = [...specifiedDirectives, defer, stream];
  const extensions = { directives: { link: LINK } };
  const schema = builder.toSchema({ directives, extensions, sortSchema: false });
  for (const [name, fields] of keyFields) {
    const type = schema.getType(name);
    if (!type) throw new TypeError(`the schema has no entity ${name}`);
    type.extensions = { ...type.extensions, directives: { key: fields.map((key) => ({ fields: key })) } };
  }
  return schema;
}

/** Serves the SDL of the renamed schema in `_service`. */
export function serveSdl(schema: GraphQLSchema): GraphQLSchema {
  const { _service: service } = schema.getQueryType()?.getFields() ?? {};
  if (!service) throw new TypeError("expected the schema of a subgraph");
  let sdl: string | null = null;
  service.resolve = () => ({ sdl: (sdl ??= printSubgraph(schema)) });
  return schema;
}
