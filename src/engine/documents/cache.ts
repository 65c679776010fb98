import type { DocumentNode } from "graphql";
import type { Plugin } from "graphql-yoga";
import { LRUCache } from "lru-cache";

/** Documents with more characters are parsed and validated again each time. */
const LONGEST_KEPT = 16_384;

/** What a parsed document takes of the heap, measured: 270 to 480 bytes a token, and its text. */
const BYTES_PER_TOKEN = 480;
export const BYTES_PER_CHARACTER = 2;

const weigh = ({ tokenCount = 0 }: DocumentNode, text: string): number =>
  tokenCount * BYTES_PER_TOKEN + text.length * BYTES_PER_CHARACTER;

/**
 * Keeps documents that were parsed and found valid, up to so many bytes; the ones unused for longest go first. Own code:
 * Yoga's cache counts documents, each of which may take two megabytes, and keeps those that failed.
 */
export function useDocumentCache(bytes: number): Plugin {
  const documents = new LRUCache<string, DocumentNode>({ maxSize: bytes, sizeCalculation: weigh });
  const valid = new WeakSet<DocumentNode>();
  return {
    onParse({ params: { source }, setParsedDocument }) {
      const known = documents.get(typeof source === "string" ? source : source.body);
      if (known) setParsedDocument(known);
    },
    onValidate({ params: { documentAST }, setResult }) {
      if (valid.has(documentAST)) {
        setResult([]);
        return;
      }
      return ({ valid: isValid }) => {
        const text = documentAST.loc?.source.body;
        if (!isValid || text === undefined || text.length > LONGEST_KEPT) return;
        valid.add(documentAST);
        documents.set(text, documentAST);
      };
    },
  };
}
