import { printSubgraphSchema } from "@apollo/subgraph";
import type { InterfaceRef, ObjectRef } from "@pothos/core";
import type { GraphQLSchema } from "graphql";
import type { Multiplied } from "../../engine/limits/selection.ts";
import { InputError } from "../../errors.ts";
import { builder, type PothosTypes } from "../core/builder.ts";
import { within } from "../core/connection.ts";
import type { Context } from "../core/context.ts";
import type { Thing } from "../core/fields.ts";
import type { Address, Handle } from "../core/resource.ts";
import { identify, identifyRun, named } from "../core/ids.ts";
import { prefetch } from "../core/prefetch.ts";
import {
  BuildJob,
  Cluster,
  Experiment,
  ExperimentJob,
  Group,
  Job,
  Node,
  Project,
  Run,
  User,
} from "../core/refs.ts";
import type { TypeNames } from "../core/type-names.ts";

/*
 * The schema as a subgraph of a wider graph. Other subgraphs name our things by their global ids, or by the names that
 * they have stored. A representation is a handle like any other: what its key tells costs no request, and what is
 * selected beyond it goes through the look-ahead and the loaders of the request.
 */

type Representation = Readonly<Record<string, unknown>>;

/** How a thing is found by the text of one key field. Throws `InputError`. */
type Finders<Of> = Readonly<Record<string, (text: string, names: TypeNames) => Of>>;

/** Makes a type an entity: a key for each field by which it can be found. */
function entity<R extends object, At extends Address>(
  target: ObjectRef<PothosTypes, Handle<R, At>> | InterfaceRef<PothosTypes, Handle<R, At>>,
  finders: Finders<Handle<R, At>>,
): void {
  const fields = Object.keys(finders);
  builder.asEntity(target, {
    key: fields.map((selection) => ({ ...builder.selection<Representation>(""), selection })),
    resolveReference: (representation: Representation, context, info) => {
      for (const [field, find] of Object.entries(finders)) {
        const text = representation[field];
        if (typeof text === "string") return prefetch(find(text, context.names), context, info);
      }
      throw new InputError(`expected a text in ${fields.join(" or ")}, got none`);
    },
  });
}

/** Makes a kind an entity: by its global id, and by the field that holds its name in the service. */
function entityOf<R extends object, At extends Address>(target: Thing<R, At>, nameField?: string): void {
  const { kind } = target;
  entity(target, {
    id: (id, names) => identify(kind, "id", id, names),
    ...(nameField && { [nameField]: (name: string) => named(kind, nameField, name) }),
  });
}

entityOf(Experiment, "uniqueName");
entityOf(ExperimentJob, "uniqueName");
entityOf(Job, "uniqueName");
entityOf(BuildJob, "uniqueName");
entityOf(Group, "uniqueName");
entityOf(Project, "uniqueName");
entityOf(User, "username");
entityOf(Node, "name");
entityOf(Cluster);
// An entity interface: another subgraph adds fields to runs of all kinds by `type Run @interfaceObject`.
entity(Run, { id: (text, names) => identifyRun("id", text, names) });

/** The schema with the fields of federation, before anything is renamed. */
export const toSubgraphSchema = (): GraphQLSchema =>
  builder.toSubGraphSchema({
    // The first version that knows keys of interfaces.
    linkUrl: "https://specs.apollo.dev/federation/v2.3",
    federationDirectives: ["@key", "@shareable"],
  });

/** Most representations of one `_entities` field. */
const MOST_REPRESENTATIONS = 1_000;

/**
 * The subgraph as it is served: `_service` tells the schema as it was named at last, and in `_entities` each
 * representation stands for itself. (The library's resolver lets one that nobody knows fail all the others.)
 */
export function serveSubgraph(schema: GraphQLSchema): GraphQLSchema {
  const fields = schema.getQueryType()?.getFields() ?? {};
  const { _entities: entities, _service: service } = fields;
  const resolve = entities?.resolve;
  if (!resolve || !service) throw new TypeError("the schema is no subgraph");
  let sdl: string | undefined;
  const multiplied: Multiplied = { itemsOf: "representations" };
  entities.extensions = { ...entities.extensions, ...multiplied };
  service.resolve = () => ({ sdl: (sdl ??= printSubgraphSchema(schema)) });
  entities.resolve = (
    source,
    { representations }: { representations: unknown[] },
    context: Context,
    info,
  ) => {
    within("representations", representations.length, { from: 0, to: MOST_REPRESENTATIONS });
    return representations.map(async (representation, index) => {
      const { __typename: name } = (representation ?? {}) as Representation;
      if (typeof name !== "string" || !isEntity(name, context)) {
        throw new InputError(`representations[${index}]: expected the __typename of an entity`);
      }
      // The list of one has one item.
      const [thing] = (await resolve(source, { representations: [representation] }, context, info)) as [
        unknown,
      ];
      return thing;
    });
  };
  return schema;
}

/** Every kind is an entity, and so is the interface of all runs. */
const isEntity = (typename: string, { names }: Context): boolean =>
  names.ours(typename) !== null || typename === names.served(Run.name);
