import { maxAliasesRule } from "@escape.tech/graphql-armor-max-aliases";
import { maxDepthRule } from "@escape.tech/graphql-armor-max-depth";
import {
  type DocumentNode,
  GraphQLError,
  Kind,
  parse,
  type SelectionSetNode,
  type ValidationContext,
  type ValidationRule,
} from "graphql";
import { validationCostError } from "./repeats.ts";
import { tooLarge } from "./too-large.ts";

export interface OperationLimits {
  /** Maximum nesting; introspection is exempt. */
  readonly depth: number;
  readonly tokens: number;
  readonly aliases: number;
  readonly queryFields: number;
  readonly mutationFields: number;
}

/** Maximum `login` fields of one operation, so that aliases cannot be used to guess passwords. */
const MAX_LOGINS = 1;

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

interface RootCount {
  readonly fields: number;
  readonly logins: number;
}

/** Limits the root fields, fragments included. Own code: no maintained package counts them. */
const rootFieldsRule =
  (max: { readonly query: number; readonly mutation: number }): ValidationRule =>
  (context) => ({
    OperationDefinition({ operation, selectionSet }) {
      if (operation === "subscription") return;
      const { fields, logins } = countRoot(selectionSet, context, new Map());
      if (fields > max[operation]) {
        report(
          tooLarge(`Expected at most ${max[operation]} fields at the root of a ${operation}, got ${fields}.`),
        )(context);
      }
      if (operation === "mutation" && logins > MAX_LOGINS) {
        report(tooLarge(`Expected at most ${MAX_LOGINS} login, got ${logins}.`))(context);
      }
    },
  });

/** Counts the root fields of a selection set. Memoized by fragment, because nested spreads can grow exponentially. */
function countRoot(
  set: SelectionSetNode,
  context: ValidationContext,
  counts: Map<string, RootCount>,
): RootCount {
  let fields = 0;
  let logins = 0;
  for (const node of set.selections) {
    const { fields: addedFields, logins: addedLogins } =
      node.kind === Kind.FIELD
        ? { fields: 1, logins: node.name.value === "login" ? 1 : 0 }
        : node.kind === Kind.INLINE_FRAGMENT
          ? countRoot(node.selectionSet, context, counts)
          : countFragment(node.name.value, context, counts);
    fields += addedFields;
    logins += addedLogins;
  }
  return { fields, logins };
}

const NONE: RootCount = { fields: 0, logins: 0 };

function countFragment(name: string, context: ValidationContext, counts: Map<string, RootCount>): RootCount {
  const counted = counts.get(name);
  if (counted) return counted;
  // Ends the recursion of a fragment that spreads itself; another rule rejects it.
  counts.set(name, NONE);
  const fragment = context.getFragment(name);
  const count = fragment ? countRoot(fragment.selectionSet, context, counts) : NONE;
  counts.set(name, count);
  return count;
}
