import { type DocumentNode, Kind, type OperationDefinitionNode, parse, type TypeNode } from "graphql";
import { readDemoVariables, type Rename, shippedOperations } from "../shipped-operations.ts";

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
  return shippedOperations(rename).map(({ file, text: query }) => {
    const document = parse(query);
    const variables = demoVariables ? (demoVariables[file] ?? {}) : blankVariables(document);
    const { name, type } = describe(document);
    return { name, about: commentOf(query), type, query, variables: JSON.stringify(variables, null, 2) };
  });
}

const isOperation = (definition: { kind: string }): definition is OperationDefinitionNode =>
  definition.kind === Kind.OPERATION_DEFINITION;

function describe(document: DocumentNode): Pick<PageOperation, "name" | "type"> {
  const operation = document.definitions.find(isOperation);
  return { name: operation?.name?.value ?? "", type: operation?.operation ?? "query" };
}

/** The text of the comment lines at the beginning. */
function commentOf(query: string): string {
  const [comment = ""] = /^(?:#.*\n)*/.exec(query) ?? [];
  return comment.replaceAll(/^# ?/gm, "").replaceAll("\n", " ").trim();
}

/** Blank values for the required variables without a default: `{ "id": "" }` for `($id: ID!, $after: String)`. */
function blankVariables({ definitions }: DocumentNode): Record<string, unknown> {
  const required = definitions
    .flatMap((definition) => (isOperation(definition) ? (definition.variableDefinitions ?? []) : []))
    .flatMap(({ type, variable, defaultValue }) =>
      type.kind === Kind.NON_NULL_TYPE && !defaultValue
        ? [[variable.name.value, blankOf(type.type)] as const]
        : [],
    );
  return Object.fromEntries(required);
}

const blankOf = (type: TypeNode): unknown => (type.kind === Kind.LIST_TYPE ? [""] : "");
