import type { GraphQLSchema } from "graphql";

/** What deletes, or changes what other users may do. */
const CAREFUL = /^(?:delete|activateUser|grantSuperuser|revokeSuperuser)/;

/** The mutations that the page asks about before it sends them. */
export const carefulMutations = (schema: GraphQLSchema): string[] =>
  Object.keys(schema.getMutationType()?.getFields() ?? {}).filter((name) => CAREFUL.test(name));
