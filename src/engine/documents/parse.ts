import { type ASTNode, type DocumentNode, type GraphQLError, parse, Source, TokenKind } from "graphql";

/** The source of a document. `body` contains the document only while it is parsed. `text` always contains it. */
class DocumentSource extends Source {
  readonly text: string;

  constructor(text: string) {
    super(text);
    this.text = text;
  }
}

/**
 * Parses a document. Throws `GraphQLError`. For each node of an error, graphql-js counts the lines before the node, which takes long for
 * many errors in a long document. The text is therefore removed from the source, and graphql-js has no lines to count. `locationsOf` reads
 * the line of a node from its first token instead.
 */
export function parseDocument(text: string, maxTokens: number): DocumentNode {
  const source = new DocumentSource(text);
  const document = parse(source, { maxTokens });
  source.body = "";
  unlinkComments(document);
  return document;
}

/** Removes comments from the tokens of a document. A comment takes 90 bytes of memory, and graphql-js does not count it as a token. */
function unlinkComments({ loc }: DocumentNode): void {
  for (let token = loc?.startToken; token; token = token.next ?? undefined) {
    let { next } = token;
    while (next?.kind === TokenKind.COMMENT) ({ next } = next);
    // Safe: graphql-js also changes these read-only properties.
    Object.assign(token, { next });
    if (next) Object.assign(next, { prev: token });
  }
}

/** The source of the document that contains a node; undefined if it is unknown. */
export function textOf(node: ASTNode | undefined): string | undefined {
  const source = node?.loc?.source;
  return source instanceof DocumentSource ? source.text : source?.body;
}

/** Maximum locations of an error. A document can select a field a thousand times, and a list can fail at each of its items. */
const MAX_LOCATIONS = 10;

/** The first locations of an error in its document; undefined when the error has no location. */
export function locationsOf({ nodes = [], locations }: GraphQLError): GraphQLError["locations"] {
  const tokens = nodes.slice(0, MAX_LOCATIONS).flatMap(({ loc }) => loc?.startToken ?? []);
  return tokens.length > 0 ? tokens.map(({ line, column }) => ({ line, column })) : locations;
}
