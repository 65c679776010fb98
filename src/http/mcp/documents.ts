import {
  type DocumentNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  separateOperations,
  visit,
} from "graphql";
import type { OperationParams, TrustedDocuments } from "../../engine/documents/persisted.ts";
import { isSliceOver, nextTurn } from "../../engine/turns.ts";
import { commentOf, type Rename, shippedOperations } from "../shipped-operations.ts";
import { firstSentence, type InputSchema, inputSchemaOf } from "./input-schema.ts";

/** The types of operations that a tool can run: a tool has one result. */
export type ToolType = "query" | "mutation";

/** An operation that becomes a tool. */
export interface ToolOperation {
  readonly name: string;
  readonly type: ToolType;
  readonly description: string;
  readonly inputSchema: InputSchema;
  /** What names the operation to the engine. */
  readonly params: OperationParams;
}

/** The text of a document, and how a request names it. */
interface NamedText {
  readonly text: string;
  readonly params: OperationParams;
  readonly isShipped: boolean;
}

const textsOf = (trusted: TrustedDocuments | null, rename: Rename): NamedText[] =>
  trusted
    ? [...trusted].map(([documentId, text]) => ({ text, params: { documentId }, isShipped: false }))
    : shippedOperations(rename).map(({ text }) => ({ text, params: { query: text }, isShipped: true }));

/**
 * Reads the operations of the trusted documents, or the shipped ones. Left out are subscriptions, operations without a
 * name, documents that cannot be read, and the sign-in: a password is not for an agent. So are shipped mutations of several fields, which show people how these run and do more than an agent wants, and the
 * shipped comparison of two. Of several operations with one name the last counts.
 */
export async function readToolOperations(
  schema: GraphQLSchema,
  trusted: TrustedDocuments | null,
  rename: Rename,
): Promise<ToolOperation[]> {
  const operations = new Map<string, ToolOperation>();
  for (const each of textsOf(trusted, rename)) {
    for (const operation of operationsOf(schema, each)) operations.set(operation.name, operation);
    if (isSliceOver()) await nextTurn();
  }
  return [...operations.values()];
}

function operationsOf(schema: GraphQLSchema, { text, params, isShipped }: NamedText): ToolOperation[] {
  const document = parsed(text);
  if (!document) return [];
  return Object.values(separateOperations(document)).flatMap((own) => {
    const node = own.definitions.find(({ kind }) => kind === Kind.OPERATION_DEFINITION);
    if (node?.kind !== Kind.OPERATION_DEFINITION || !node.name) return [];
    const { operation: type } = node;
    const { value: name } = node.name;
    const inputSchema = inputSchemaOf(schema, own, node);
    if (isShipped && isForPeople(name, node)) return [];
    if (type === "subscription" || signsIn(own) || !inputSchema) return [];
    const described = node.description?.value ?? (commentOf(node) || describeFields(schema, node));
    const description = withoutCosts(described);
    return { name, type, description, inputSchema, params: { ...params, operationName: name } };
  });
}

/** `CompareExperiments` shows aliases, for two runs: agents compare any number with `CompareRuns`. */
const isForPeople = (name: string, node: OperationDefinitionNode): boolean =>
  name === "CompareExperiments" || (node.operation === "mutation" && rootFieldsOf(node).length > 1);

/** Whether a text is a document that signs in. One that cannot be read, or is too long to be run, does nothing. */
export function textSignsIn(text: string, maxTokens: number): boolean {
  const document = parsed(text, maxTokens);
  return document !== null && signsIn(document);
}

/** Whether `login` is selected, at the root or in a fragment: no other type has a field of this name. */
function signsIn(document: DocumentNode): boolean {
  let found = false;
  visit(document, {
    Field: ({ name }) => {
      found ||= name.value === "login";
    },
  });
  return found;
}

function parsed(text: string, maxTokens = Number.POSITIVE_INFINITY): DocumentNode | null {
  try {
    return parse(text, { maxTokens });
  } catch {
    return null;
  }
}

/** The names of the root fields, except those in fragments. */
const rootFieldsOf = ({ selectionSet }: OperationDefinitionNode): string[] =>
  selectionSet.selections.flatMap((each) => (each.kind === Kind.FIELD ? each.name.value : []));

/** A description without its sentences about upstream requests, which say nothing of when to use a tool. */
const withoutCosts = (description: string): string =>
  description
    .split(/(?<=[.?!]) +/)
    .filter((sentence) => !/\bupstream requests?\b/.test(sentence))
    .join(" ") || description;

/** Describes an operation by its root fields: generated manifests have no comments. */
function describeFields(schema: GraphQLSchema, node: OperationDefinitionNode): string {
  const fields = schema.getRootType(node.operation)?.getFields();
  return [...new Set(rootFieldsOf(node))]
    .map((name) => `${name}: ${firstSentence(fields?.[name]?.description ?? "")}`.trim())
    .join("\n");
}
