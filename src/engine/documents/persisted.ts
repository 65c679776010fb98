import { useAPQ } from "@graphql-yoga/plugin-apq";
import { usePersistedOperations } from "@graphql-yoga/plugin-persisted-operations";
import type { GraphQLParams, Plugin } from "graphql-yoga";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { type ErrorCode, statusOf } from "../../errors.ts";
import { BYTES_PER_CHARACTER } from "./cache.ts";

/** Documents by the hashes that stand for them. */
export type TrustedDocuments = ReadonlyMap<string, string>;

/** What code generators write: hashes and documents, as graphql-codegen and relay-compiler do it, or Apollo's form. */
const Manifest = z.union([
  z
    .object({ operations: z.array(z.object({ id: z.string(), body: z.string() })) })
    .transform(({ operations }) => operations.map(({ id, body }) => [id, body] as const)),
  z.record(z.string(), z.string()).transform((documents) => Object.entries(documents)),
]);

/** Hashes are written with the name of their algorithm in front, or without. */
const bare = (hash: string) => hash.replace(/^sha256:/, "");

/** Reads a manifest; null when the text is none. */
export function parseManifest(text: string): TrustedDocuments | null {
  try {
    return new Map(Manifest.parse(JSON.parse(text)).map(([hash, document]) => [bare(hash), document]));
  } catch {
    return null;
  }
}

/** Where a request carries the hash of its document, beside `extensions.persistedQuery`. */
export const DOCUMENT_ID = "documentId";

type Params = GraphQLParams & { readonly [DOCUMENT_ID]?: unknown };

/** `extensions.persistedQuery.sha256Hash`, or `documentId`. */
function hashOf({ extensions, documentId }: Params): string | null {
  const { sha256Hash } = (extensions?.["persistedQuery"] ?? {}) as { sha256Hash?: unknown };
  const hash = sha256Hash ?? documentId;
  return typeof hash === "string" ? bare(hash) : null;
}

const refused = (message: string, code: ErrorCode) => ({
  message,
  extensions: { code, http: { status: statusOf(code) } },
});

/** Runs no document but these. */
export const useTrustedDocuments = (documents: TrustedDocuments): Plugin =>
  usePersistedOperations({
    extractPersistedOperationId: hashOf,
    getPersistedOperation: (hash) => documents.get(hash) ?? null,
    customErrors: {
      notFound: refused(
        "Expected the hash of a trusted document, got another.",
        "PERSISTED_QUERY_NOT_IN_LIST",
      ),
      keyNotFound: refused(
        "Expected the hash of a trusted document, got none.",
        "PERSISTED_QUERY_ID_REQUIRED",
      ),
      persistedQueryOnly: refused(
        "Expected the hash of a trusted document, got a document.",
        "PERSISTED_QUERY_ID_REQUIRED",
      ),
    },
  });

/**
 * Automatic persisted queries: a client sends a hash, and the document with it when it is asked to. The texts are kept up
 * to so many bytes; the ones unused for longest go first.
 */
export const useAutomaticPersistedQueries = (bytes: number): Plugin =>
  useAPQ({
    store: new LRUCache<string, string>({
      maxSize: bytes,
      sizeCalculation: (text, hash) => (text.length + hash.length) * BYTES_PER_CHARACTER,
    }),
    // "Not found" is a question, not a failure: clients look at the code and not all of them at a body with status 404.
    responseConfig: { forceStatusCodeOk: true },
  });
