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
import { costlyToValidate } from "./repeats.ts";
import { tooLarge } from "./too-large.ts";

export interface OperationLimits {
  /** Deepest nesting; introspection is exempt. */
  readonly depth: number;
  readonly tokens: number;
  readonly aliases: number;
  readonly queryFields: number;
  readonly mutationFields: number;
}

/** Root fields of one kind that one operation may hold: guessing passwords by aliases is stopped here. */
const MOST_LOGINS = 1;

const report =
  (error: GraphQLError) =>
  (context: ValidationContext | null): void =>
    context?.reportError(error);

/** Parses a document of at most so many tokens that is not costly to validate. Throws `GraphQLError`. */
export function parseBounded(text: string, maxTokens: number): DocumentNode {
  try {
    const document = parse(text, { maxTokens });
    const refusal = costlyToValidate(document);
    if (refusal) throw refusal;
    return document;
  } catch (fault) {
    // The parser calls itself for each bracket.
    if (fault instanceof RangeError)
      throw tooLarge("Expected a document that is nested less deeply.", "OPERATION_TOO_DEEP");
    if (!(fault instanceof GraphQLError) || !fault.message.includes("Parsing aborted")) throw fault;
    throw tooLarge(`Expected a document of at most ${maxTokens} tokens, got a longer one.`);
  }
}

/** The rules of validation that bound what a document may ask. */
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

/** Counts root fields, through fragments. Own code: no kept package counts them. */
const rootFieldsRule =
  (most: { readonly query: number; readonly mutation: number }): ValidationRule =>
  (context) => ({
    OperationDefinition({ operation, selectionSet }) {
      if (operation === "subscription") return;
      const { fields, logins } = countRoot(selectionSet, context, new Map());
      if (fields > most[operation]) {
        report(
          tooLarge(
            `Expected at most ${most[operation]} fields at the root of a ${operation}, got ${fields}.`,
          ),
        )(context);
      }
      if (operation === "mutation" && logins > MOST_LOGINS) {
        report(tooLarge(`Expected at most ${MOST_LOGINS} login, got ${logins}.`))(context);
      }
    },
  });

/** Each fragment is counted once and remembered: spreads that double at every step must cost no time. */
function countRoot(
  set: SelectionSetNode,
  context: ValidationContext,
  known: Map<string, RootCount>,
): RootCount {
  let fields = 0;
  let logins = 0;
  for (const node of set.selections) {
    const { fields: more, logins: moreLogins } =
      node.kind === Kind.FIELD
        ? { fields: 1, logins: node.name.value === "login" ? 1 : 0 }
        : node.kind === Kind.INLINE_FRAGMENT
          ? countRoot(node.selectionSet, context, known)
          : countFragment(node.name.value, context, known);
    fields += more;
    logins += moreLogins;
  }
  return { fields, logins };
}

const NONE: RootCount = { fields: 0, logins: 0 };

function countFragment(name: string, context: ValidationContext, known: Map<string, RootCount>): RootCount {
  const counted = known.get(name);
  if (counted) return counted;
  // A fragment that spreads itself is refused elsewhere; here it must come to an end.
  known.set(name, NONE);
  const fragment = context.getFragment(name);
  const count = fragment ? countRoot(fragment.selectionSet, context, known) : NONE;
  known.set(name, count);
  return count;
}
