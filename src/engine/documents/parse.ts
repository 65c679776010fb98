import { type ASTNode, type DocumentNode, type GraphQLError, parse, Source, TokenKind } from "graphql";

/** The text of a document, which `body` has only while it is parsed. */
class DocumentSource extends Source {
  readonly text: string;

  constructor(text: string) {
    super(text);
    this.text = text;
  }
}

/**
 * Parses a document. Throws `GraphQLError`. graphql-js counts the lines before each node of an error, which is as much as errors
 * times lines: so it finds no text to count in. `locationsOf` reads the line of a node from its first token.
 */
export function parseDocument(text: string, maxTokens: number): DocumentNode {
  const source = new DocumentSource(text);
  const document = parse(source, { maxTokens });
  source.body = "";
  unlinkComments(document);
  return document;
}

/** Removes comments from the tokens of a document, because graphql-js does not count them and each takes 90 bytes. */
function unlinkComments({ loc }: DocumentNode): void {
  for (let token = loc?.startToken; token; token = token.next ?? undefined) {
    let { next } = token;
    while (next?.kind === TokenKind.COMMENT) ({ next } = next);
    // Safe: graphql-js writes them as well.
    Object.assign(token, { next });
    if (next) Object.assign(next, { prev: token });
  }
}

/** The text of the document of a node; undefined when it is not known. */
export function textOf(node: ASTNode | undefined): string | undefined {
  const source = node?.loc?.source;
  return source instanceof DocumentSource ? source.text : source?.body;
}

/** Maximum locations of an error: a document can select a field a thousand times, and a list can fail at each of its items. */
const MAX_LOCATIONS = 10;

/** The first locations of an error in its document; undefined when it has none. */
export function locationsOf({ nodes = [], locations }: GraphQLError): GraphQLError["locations"] {
  const tokens = nodes.slice(0, MAX_LOCATIONS).flatMap(({ loc }) => loc?.startToken ?? []);
  return tokens.length > 0 ? tokens.map(({ line, column }) => ({ line, column })) : locations;
}
