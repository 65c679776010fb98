import { printSubgraphSchema } from "@apollo/subgraph";
import { getDocumentNodeFromSchema } from "@graphql-tools/utils";
import { buildASTSchema, type GraphQLSchema, lexicographicSortSchema } from "graphql";

/** Prints the SDL of a subgraph, with the directives in the `extensions` of the schema and its types. */
export function printSdl(schema: GraphQLSchema): string {
  const document = getDocumentNodeFromSchema(lexicographicSortSchema(schema));
  // The printer reads directives from syntax nodes, which only a schema built from a document has.
  return printSubgraphSchema(buildASTSchema(document, { assumeValidSDL: true, assumeValid: true }));
}
