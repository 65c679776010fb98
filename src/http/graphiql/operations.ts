import { getOperationAST, Kind, parse, type VariableDefinitionNode } from "graphql";
import { commentOf, readDemoVariables, type Rename, shippedOperations } from "../shipped-operations.ts";

/** An operation that the page offers. */
export interface PageOperation {
  readonly name: string;
  /** The comment that it begins with. */
  readonly about: string;
  readonly type: "query" | "mutation" | "subscription";
  readonly query: string;
  /** A JSON object as text. */
  readonly variables: string;
}

/**
 * All shipped operations except the sign-in, for which the page has a form. With the demo the variables name its records;
 * otherwise they are blank.
 */
export function pageOperations(rename: Rename, { isDemo }: { readonly isDemo: boolean }): PageOperation[] {
  const demoVariables = isDemo ? readDemoVariables() : null;
  return shippedOperations(rename).flatMap(({ file, text: query }) => {
    const operation = getOperationAST(parse(query));
    if (!operation?.name) return [];
    const variables = demoVariables
      ? (demoVariables[file] ?? {})
      : Object.fromEntries((operation.variableDefinitions ?? []).flatMap(blankOf));
    const { name, operation: type } = operation;
    return {
      name: name.value,
      about: commentOf(operation),
      type,
      query,
      variables: JSON.stringify(variables, null, 2),
    };
  });
}

/** A blank value for a required variable without a default: `["id", ""]` for `$id: ID!`. */
const blankOf = ({ type, variable, defaultValue }: VariableDefinitionNode) =>
  type.kind === Kind.NON_NULL_TYPE && !defaultValue
    ? [[variable.name.value, type.type.kind === Kind.LIST_TYPE ? [""] : ""] as const]
    : [];
