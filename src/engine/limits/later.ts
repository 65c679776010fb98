import {
  type DirectiveNode,
  getNullableType,
  GraphQLError,
  isListType,
  Kind,
  type ValidationRule,
} from "graphql";

/** Whether a directive never has an effect. */
export function isOff({ arguments: given = [] }: DirectiveNode): boolean {
  const condition = given.find(({ name }) => name.value === "if")?.value;
  return condition?.kind === Kind.BOOLEAN && !condition.value;
}

/** The labels of `@defer` and `@stream`, and where `@stream` may stand, as in the draft of the specification. Own code until graphql-js 17. */
export const laterRule: ValidationRule = (context) => {
  const labels = new Set<string>();
  const report = (message: string, nodes: DirectiveNode): void =>
    context.reportError(new GraphQLError(message, { nodes }));

  return {
    Directive(node) {
      const name = node.name.value;
      if (name !== "defer" && name !== "stream") return;
      const label = node.arguments?.find((argument) => argument.name.value === "label")?.value;
      if (label && label.kind !== Kind.STRING && label.kind !== Kind.NULL)
        report(`label of @${name}: expected a constant string`, node);
      if (label?.kind !== Kind.STRING) return;
      if (labels.has(label.value)) report(`label of @${name}: expected one that no other has`, node);
      labels.add(label.value);
    },
    Field(node) {
      const type = context.getFieldDef()?.type;
      const stream = node.directives?.find((directive) => directive.name.value === "stream");
      if (stream && type && !isListType(getNullableType(type)))
        report(`Expected @stream on a list, got it on ${node.name.value}.`, stream);
    },
  };
};
