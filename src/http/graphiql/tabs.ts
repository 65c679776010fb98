import { type DocumentNode, Kind, parse, type TypeNode } from "graphql";
import type { TypeNames } from "../../graphql/core/kinds.ts";
import { readDemoVariables, shippedOperations } from "../shipped-operations.ts";

export interface Tab {
  readonly query: string;
  /** A JSON object as text. */
  readonly variables: string;
}

/**
 * Builds a tab for each shipped operation except the sign-in, for which the page has a form. The first operation takes no
 * variables, because GraphiQL does not load those of the first default tab (graphql/graphiql#3392). With the demo the
 * variables name its records; otherwise they are blank.
 */
export function tabsOf(names: TypeNames, { isDemo }: { readonly isDemo: boolean }): Tab[] {
  const demoVariables = isDemo ? readDemoVariables() : null;
  return shippedOperations(names).map(({ file, text: query }) => {
    const variables = demoVariables ? (demoVariables[file] ?? {}) : blankVariables(parse(query));
    return { query, variables: JSON.stringify(variables, null, 2) };
  });
}

/** Blank values for the required variables: `{ "id": "" }` for `($id: ID!, $after: String)`. */
function blankVariables({ definitions }: DocumentNode): Record<string, unknown> {
  const required = definitions
    .flatMap((definition) =>
      definition.kind === Kind.OPERATION_DEFINITION ? (definition.variableDefinitions ?? []) : [],
    )
    .flatMap(({ type, variable }) =>
      type.kind === Kind.NON_NULL_TYPE ? [[variable.name.value, blankOf(type.type)] as const] : [],
    );
  return Object.fromEntries(required);
}

const blankOf = (type: TypeNode): unknown => (type.kind === Kind.LIST_TYPE ? [""] : "");
