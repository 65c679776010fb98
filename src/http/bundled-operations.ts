import { readdirSync, readFileSync } from "node:fs";
import {
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  parse,
  type Token,
  TokenKind,
  type VariableDefinitionNode,
} from "graphql";
import { FOLDER } from "../package-info.ts";

const OPERATIONS_FOLDER = new URL("schema/operations/", FOLDER);
const SIGN_IN = "01-sign-in.graphql";

/** Renames the types in a document as `TYPE_NAMES` renames them in the schema. */
type Rename = (text: string) => string;

export const signInOperation = (rename: Rename): string => rename(readText(SIGN_IN));

/**
 * All bundled operations except the sign-in, in the order of the numbers in their file names. They become tabs of GraphiQL and tools for
 * agents.
 */
export const shippedOperations = (rename: Rename) =>
  readdirSync(OPERATIONS_FOLDER)
    .filter((file) => file.endsWith(".graphql") && file !== SIGN_IN)
    .toSorted()
    .map((file) => ({ file, text: rename(readText(file)) }));

const readText = (file: string): string => readFileSync(new URL(file, OPERATIONS_FOLDER), "utf8");

/** A description without the sentences that match an expression. */
export const withoutSentences = (description: string, expression: RegExp): string =>
  description
    .split(/(?<=[.?!]) +/)
    .filter((sentence) => !expression.test(sentence))
    .join(" ");

/** The comment before an operation, as one line. */
export function commentOf({ loc }: OperationDefinitionNode): string {
  const lines: string[] = [];
  let token: Token | null = loc?.startToken.prev ?? null;
  for (; token?.kind === TokenKind.COMMENT; token = token.prev) lines.unshift(token.value.trim());
  return lines.join(" ");
}

/**
 * All bundled operations except the sign-in, for which the page has a form. With the demo, the variables refer to records of the demo.
 * Otherwise the variables are blank.
 */
export function pageOperations(rename: Rename, { isDemo }: { readonly isDemo: boolean }) {
  const demoVariables = isDemo
    ? (JSON.parse(readText("demo-variables.json")) as Record<string, object>)
    : null;
  return shippedOperations(rename).flatMap(({ file, text: query }) => {
    const operation = getOperationAST(parse(query));
    if (!operation?.name) return [];
    const variables = demoVariables
      ? (demoVariables[file] ?? {})
      : Object.fromEntries((operation.variableDefinitions ?? []).flatMap(blankOf));
    return {
      name: operation.name.value,
      about: commentOf(operation),
      type: operation.operation,
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
