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

/** An argument that no other field has, and no argument of a schema its name. */
const numbered = (number: number): ArgumentNode => ({
  kind: Kind.ARGUMENT,
  name: { kind: Kind.NAME, value: "@stream" },
  value: { kind: Kind.INT, value: `${number}` },
});

/**
 * Requires that a field with `@stream` is not selected again, deferred or not, as graphql-js 17 does: its items would come
 * twice, or without their fields. The rule of graphql-js 16 for fields that are merged compares arguments, so each such field
 * is given one of its own.
 */
export const streamedOnceRule: ValidationRule = (context): ASTVisitor => ({
  Document(document) {
    let streams = 0;
    const changed = visit(document, {
      Field: (node) =>
        streamOf(node) && { ...node, arguments: [...(node.arguments ?? []), numbered(streams++)] },
    });
    if (streams === 0) return;
    for (const { nodes = [] } of validate(context.getSchema(), changed, [OverlappingFieldsCanBeMergedRule])) {
      const streamed = nodes.find((node) => node.kind === Kind.FIELD && streamOf(node));
      if (streamed?.kind !== Kind.FIELD) continue;
      const message = `Expected one selection of ${streamed.name.value} where it has @stream, got several: use an alias.`;
      context.reportError(new GraphQLError(message, { nodes }));
    }
  },
});
