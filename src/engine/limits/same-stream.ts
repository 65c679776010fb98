import {
  type ArgumentNode,
  type ASTVisitor,
  type DirectiveNode,
  type FieldNode,
  GraphQLError,
  Kind,
  OverlappingFieldsCanBeMergedRule,
  validate,
  type ValidationRule,
  visit,
} from "graphql";
import { isOff } from "./later.ts";

const streamOf = ({ directives = [] }: FieldNode): DirectiveNode | undefined =>
  directives.find((directive) => directive.name.value === "stream" && !isOff(directive));

/** `@stream` as an argument. No argument of a schema has its name. */
const argumentOf = ({ arguments: given = [] }: DirectiveNode): ArgumentNode => ({
  kind: Kind.ARGUMENT,
  name: { kind: Kind.NAME, value: "@stream" },
  value: {
    kind: Kind.OBJECT,
    fields: given.map(({ name, value }) => ({ kind: Kind.OBJECT_FIELD, name, value })),
  },
});

/**
 * Requires the same `@stream` wherever a field is selected, as the draft of the specification does. The rule of graphql-js
 * 16 for fields that are merged compares arguments only, so it is given `@stream` as one.
 */
export const sameStreamRule: ValidationRule = (context): ASTVisitor => ({
  Document(document) {
    let streams = 0;
    const changed = visit(document, {
      Field: (node) => {
        const stream = streamOf(node);
        if (!stream) return undefined;
        streams++;
        return { ...node, arguments: [...(node.arguments ?? []), argumentOf(stream)] };
      },
    });
    if (streams === 0) return;
    for (const { nodes = [] } of validate(context.getSchema(), changed, [OverlappingFieldsCanBeMergedRule])) {
      const streamed = nodes.find((node) => node.kind === Kind.FIELD && streamOf(node));
      if (streamed?.kind !== Kind.FIELD) continue;
      const message = `Expected the same @stream wherever ${streamed.name.value} is selected, deferred or not.`;
      context.reportError(new GraphQLError(message, { nodes }));
    }
  },
});
