import {
  type DocumentNode,
  type FieldNode,
  type GraphQLFormattedError,
  Kind,
  type SelectionSetNode,
  type ValueNode,
} from "graphql";

/**
 * Rewrites an error message so that it begins with the argument of the tool (`project: expected …`) instead of the argument of the field
 * (`id: expected …`). An argument that is not a variable of the document keeps its name. Messages about variables name the argument as well.
 */
export function withToolArgument(
  error: GraphQLFormattedError,
  document: DocumentNode,
): GraphQLFormattedError {
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
function fieldAt({ definitions }: DocumentNode, path: readonly (string | number)[]): FieldNode | undefined {
  const operation = definitions.find((each) => each.kind === Kind.OPERATION_DEFINITION);
  const fragments = new Map(
    definitions.flatMap((each) =>
      each.kind === Kind.FRAGMENT_DEFINITION ? [[each.name.value, each.selectionSet] as const] : [],
    ),
  );
  const find = (set: SelectionSetNode | undefined, key: string): FieldNode | undefined => {
    for (const selection of set?.selections ?? []) {
      if (selection.kind !== Kind.FIELD) {
        const within =
          selection.kind === Kind.FRAGMENT_SPREAD
            ? fragments.get(selection.name.value)
            : selection.selectionSet;
        const found = find(within, key);
        if (found) return found;
      } else if ((selection.alias ?? selection.name).value === key) return selection;
    }
    return undefined;
  };
  let field: FieldNode | undefined;
  let set = operation?.selectionSet;
  for (const key of path) {
    if (typeof key !== "string") continue;
    field = find(set, key);
    set = field?.selectionSet;
  }
  return field;
}
