import { readdirSync, readFileSync } from "node:fs";
import { type DocumentNode, Kind, parse, type TypeNode } from "graphql";
import { renameDocument } from "../../graphql/federation/rename.ts";
import type { TypeNames } from "../../graphql/core/type-names.ts";
import { FOLDER } from "../../folder.ts";

/** Example operations. */
const OPERATIONS = new URL("schema/operations/", FOLDER);
const SIGN_IN = "01-sign-in.graphql";

export interface Tab {
  readonly query: string;
  /** A JSON object as text. */
  readonly variables: string;
}

/** The operation that the page sends to sign in. */
export const signInOperation = (names: TypeNames): string => readOperation(SIGN_IN, names);

/**
 * Builds a tab for each operation of `schema/operations` except the sign-in, for which the page has a form. The first
 * operation takes no variables, because GraphiQL does not load those of the first default tab (graphql/graphiql#3392).
 * With the demo the variables name its records; otherwise they are blank.
 */
export function tabsOf(names: TypeNames, { isDemo }: { readonly isDemo: boolean }): Tab[] {
  const demoVariables = isDemo ? readDemoVariables() : null;
  return readdirSync(OPERATIONS)
    .filter((name) => name.endsWith(".graphql") && name !== SIGN_IN)
    .toSorted()
    .map((name) => {
      const query = readOperation(name, names);
      const variables = demoVariables ? (demoVariables[name] ?? {}) : blankVariables(parse(query));
      return { query, variables: JSON.stringify(variables, null, 2) };
    });
}

const readText = (name: string): string => readFileSync(new URL(name, OPERATIONS), "utf8");

const readOperation = (name: string, names: TypeNames): string => renameDocument(readText(name), names);

const readDemoVariables = () => JSON.parse(readText("demo-variables.json")) as Record<string, object>;

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
