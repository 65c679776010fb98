import { maxAliasesRule } from "@escape.tech/graphql-armor-max-aliases";
import { maxDepthRule } from "@escape.tech/graphql-armor-max-depth";
import { type DocumentNode, GraphQLError, parse, type ValidationContext, type ValidationRule } from "graphql";
import type { FieldExtensions } from "../field-source.ts";
import { validationCostError } from "./repeats.ts";
import { rootFieldsOf } from "./selection.ts";
import { tooLarge } from "./too-large.ts";

export interface OperationLimits {
  /** Maximum nesting; introspection is exempt. */
  readonly depth: number;
  readonly tokens: number;
  readonly aliases: number;
  readonly queryFields: number;
  readonly mutationFields: number;
}

const report =
  (error: GraphQLError) =>
  (context: ValidationContext | null): void =>
    context?.reportError(error);

/** Parses a document. Throws `GraphQLError` when it has more than `maxTokens` tokens or is too costly to validate. */
export function parseBounded(text: string, maxTokens: number): DocumentNode {
  try {
    const document = parse(text, { maxTokens });
    const error = validationCostError(document);
    if (error) throw error;
    return document;
  } catch (error) {
    // A stack overflow: the parser recurses for each bracket.
    if (error instanceof RangeError)
      throw tooLarge("Expected a document that is nested less deeply.", "OPERATION_TOO_DEEP");
    if (!(error instanceof GraphQLError) || !error.message.includes("Parsing aborted")) throw error;
    throw tooLarge(`Expected a document of at most ${maxTokens} tokens, got a longer one.`);
  }
}

/** The validation rules that limit the size of operations. */
export const limitRules = ({
  depth,
  aliases,
  queryFields,
  mutationFields,
}: OperationLimits): ValidationRule[] => [
  maxDepthRule({
    n: depth,
    flattenFragments: true,
    propagateOnRejection: false,
    onReject: [
      report(
        tooLarge(
          `Expected an operation at most ${depth} fields deep, got a deeper one.`,
          "OPERATION_TOO_DEEP",
        ),
      ),
    ],
  }),
  maxAliasesRule({
    n: aliases,
    propagateOnRejection: false,
    allowList: [],
    onReject: [report(tooLarge(`Expected at most ${aliases} aliases, got more.`))],
  }),
  rootFieldsRule({ query: queryFields, mutation: mutationFields }),
];

/**
 * Limits the root fields, fragments included, and how often an operation may select a field with `maxPerOperation`. Own
 * code: no maintained package counts them.
 */
const rootFieldsRule =
  (max: { readonly query: number; readonly mutation: number }): ValidationRule =>
  (context) => ({
    OperationDefinition(node) {
      const { operation } = node;
      if (operation === "subscription") return;
      const selected = rootFieldsOf(node, (name) => context.getFragment(name));
      if (selected.length > max[operation]) {
        report(
          tooLarge(
            `Expected at most ${max[operation]} fields at the root of a ${operation}, got ${selected.length}.`,
          ),
        )(context);
      }
      const counts = new Map<string, number>();
      for (const { name } of selected) counts.set(name.value, (counts.get(name.value) ?? 0) + 1);
      const fields = context.getSchema().getRootType(operation)?.getFields();
      for (const [name, count] of counts) {
        const { maxPerOperation = count }: FieldExtensions = fields?.[name]?.extensions ?? {};
        if (count > maxPerOperation)
          report(tooLarge(`Expected at most ${maxPerOperation} ${name}, got ${count}.`))(context);
      }
    },
  });
