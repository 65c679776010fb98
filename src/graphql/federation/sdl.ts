import { getDocumentNodeFromSchema, MapperKind, mapSchema } from "@graphql-tools/utils";
import { type GraphQLSchema, Kind, lexicographicSortSchema, print, printSchema } from "graphql";

/** Whether a type or root field is federation's: `_Any`, `_entities`. Names of introspection have two underscores. */
const isFederations = (name: string) => /^_[^_]/.test(name);

/** The schema as clients see it, without what is there for routers. */
export const withoutFederation = (schema: GraphQLSchema): GraphQLSchema =>
  mapSchema(schema, {
    [MapperKind.TYPE]: (type) => (isFederations(type.name) ? null : undefined),
    [MapperKind.QUERY_ROOT_FIELD]: (_, name) => (isFederations(name) ? null : undefined),
  });

const sorted = (schema: GraphQLSchema) => lexicographicSortSchema(withoutFederation(schema));

export const printPlain = (schema: GraphQLSchema): string => `${printSchema(sorted(schema))}\n`;

/**
 * Prints the SDL of a subgraph, with the directives in the `extensions` of the schema and its types; without definitions of
 * directives that a router has itself, as `@defer`.
 */
export function printSubgraph(schema: GraphQLSchema): string {
  const document = getDocumentNodeFromSchema(sorted(schema));
  const definitions = document.definitions.filter(({ kind }) => kind !== Kind.DIRECTIVE_DEFINITION);
  return print({ ...document, definitions });
}
