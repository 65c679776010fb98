import {
  type DocumentNode,
  type FieldNode,
  getOperationAST,
  type GraphQLFormattedError,
  Kind,
  type ValueNode,
} from "graphql";
import { fragmentsOf, selectedNodes } from "../../engine/limits.ts";

/**
 * Rewrites an error message so that it begins with the argument of the tool (`project: expected …`) instead of the argument of the field
 * (`id: expected …`). An argument that is not a variable of the document keeps its name. Messages about variables name the argument as well.
 */
export function withToolArgument(error: GraphQLFormattedError, document: DocumentNode) {
  const { path = [] } = error;
  const message = withoutVariable(error.message);
  if (message !== error.message) return { ...error, message };
  const [, name, after = ""] = /^(\w+)(?=[.[:])(.*)$/s.exec(message) ?? [];
  const argument = fieldAt(document, path)?.arguments?.find((each) => each.name.value === name);
  if (!argument) return error;
  let value: ValueNode | undefined = argument.value;
  let rest = after;
  while (value?.kind === Kind.OBJECT) {
    const [all = "", key] = /^\.(\w+)/.exec(rest) ?? [];
    value = value.fields.find((each) => each.name.value === key)?.value;
    rest = rest.slice(all.length);
  }
  return value?.kind === Kind.VARIABLE ? { ...error, message: value.name.value + rest } : error;
}

/** Rewrites a message about the value of a variable so that it begins with the name of the variable, or with the path of the value in it. */
function withoutVariable(message: string): string {
  const [, missing, type] =
    /^Variable "\$(\w+)" of required type "([^"]+)" was not provided\.$/.exec(message) ?? [];
  if (missing !== undefined) return `${missing}: expected a value of the type ${type}, got none`;
  const [, name, reason = ""] = /^Variable "\$(\w+)" (got invalid value.*)$/s.exec(message) ?? [];
  if (name === undefined) return message;
  const [found = "", path] = /^[^;]* at "([^"]+)"(?=; )/.exec(reason) ?? [];
  return path === undefined
    ? `${name}: ${reason}`
    : `${path}: ${found.slice(0, found.lastIndexOf(" at "))}${reason.slice(found.length)}`;
}

/** The field of the document that produces a path of the result. */
function fieldAt(document: DocumentNode, path: readonly (string | number)[]): FieldNode | undefined {
  const fragments = fragmentsOf(document);
  let field: FieldNode | undefined;
  for (const key of path) {
    if (typeof key !== "string") continue;
    const above = field ?? getOperationAST(document);
    const fields = (above ? selectedNodes(above, fragments) : []).filter((node) => node.kind === Kind.FIELD);
    field = fields.find((node) => (node.alias ?? node.name).value === key);
    if (!field) return undefined;
  }
  return field;
}
