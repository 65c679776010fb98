import { hash } from "node:crypto";
import { type GraphQLSchema, parse, validate } from "graphql";
import { LRUCache } from "lru-cache";
import * as z from "zod";
import { tryTo } from "../../errors.ts";
import { rejection } from "../errors.ts";

export type TrustedDocuments = ReadonlyMap<string, string>;

/** Manifest formats: a map of hashes to documents (graphql-codegen, relay-compiler), or Apollo's list of operations. */
const Manifest = z.union([
  z
    .object({ operations: z.array(z.object({ id: z.string(), body: z.string() })) })
    .transform(({ operations }) => operations.map(({ id, body }) => [id, body] as const)),
  z.record(z.string(), z.string()).transform((documents) => Object.entries(documents)),
]);

/** Removes the prefix with the hash algorithm, which some tools write. */
const bare = (text: string) => text.replace(/^sha256:/, "");

/** Parses a manifest. Returns undefined if it has neither format. */
export const parseManifest = (text: string): TrustedDocuments | undefined =>
  tryTo(() => new Map(Manifest.parse(JSON.parse(text)).map(([id, document]) => [bare(id), document])));

/** The hashes of the documents that have a syntax error or do not match the schema. */
export const invalidHashes = (documents: TrustedDocuments, schema: GraphQLSchema): string[] =>
  [...documents].flatMap(([id, document]) => {
    const errors = tryTo(() => validate(schema, parse(document)));
    return errors?.length === 0 ? [] : [id];
  });

export interface OperationParams {
  readonly query?: string | null | undefined;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
  readonly extensions?: Readonly<Record<string, unknown>> | null | undefined;
  /** The hash of the document, for clients that do not send `extensions.persistedQuery`. */
  readonly documentId?: string | null | undefined;
  /** The error behavior: `NULL`, `PROPAGATE` or `HALT`. Default: `PROPAGATE`. */
  readonly onError?: string | null | undefined;
}

/** Returns the document of a request. Throws `GraphQLError` if the request has no document, or one that is not allowed. */
type DocumentStore = (params: OperationParams) => string;

/** Allows only the given documents. A request names its document by a hash: `extensions.persistedQuery.sha256Hash` or `documentId`. */
export const trustedDocuments =
  (documents: TrustedDocuments): DocumentStore =>
  ({ extensions, documentId, query }) => {
    const { sha256Hash } = (extensions?.["persistedQuery"] ?? {}) as { readonly sha256Hash?: unknown };
    const id = sha256Hash ?? documentId;
    if (typeof id !== "string" || query) {
      const got = query ? "a document" : "none";
      throw rejection(`Expected the hash of a trusted document, got ${got}.`, "PERSISTED_QUERY_ID_REQUIRED");
    }
    const text = documents.get(bare(id));
    if (text !== undefined) return text;
    throw rejection(
      "Expected the hash of a trusted document, got an unknown hash.",
      "PERSISTED_QUERY_NOT_IN_LIST",
    );
  };

/** The error for an unknown hash. With `application/json`, its HTTP status is 200, because clients expect that. */
const notFound = (message: string) => rejection(message, "PERSISTED_QUERY_NOT_FOUND", { spec: true });

/** Maximum heap size of one character of a document, in bytes. */
export const DOCUMENT_CHARACTER_BYTES = 2;

/**
 * Creates the store of automatic persisted queries: a client sends a hash, and also the document if the gateway requests it. Keeps up to
 * `maxBytes` of texts and evicts the least recently used ones. Own code, because Yoga's plugin covers only requests that Yoga handles.
 */
export function persistedDocuments(maxBytes: number): DocumentStore {
  const texts = new LRUCache<string, string>({
    maxSize: maxBytes,
    sizeCalculation: (text, id) => (text.length + id.length) * DOCUMENT_CHARACTER_BYTES,
  });
  return ({ extensions, query, documentId }) => {
    const { version, sha256Hash: id } = (extensions?.["persistedQuery"] ?? {}) as Record<string, unknown>;
    if (version !== 1 || typeof id !== "string") {
      if (query != null) return query;
      const got = version === 1 || id == null ? "" : JSON.stringify(version ?? null).slice(0, 20);
      if (got) throw rejection(`Expected persistedQuery of version 1, got ${got}.`, "BAD_REQUEST");
      if (documentId != null)
        throw notFound("Expected the text of the document: it was not found by `documentId`.");
      throw rejection("Must provide query string.", "BAD_REQUEST", { headers: { Allow: "GET, POST" } });
    }
    if (query == null) {
      const text = texts.get(id);
      if (text !== undefined) return text;
      throw notFound("PersistedQueryNotFound");
    }
    const own = hash("sha256", query, "hex");
    if (own !== id) throw rejection("PersistedQueryMismatch", "PERSISTED_QUERY_MISMATCH", { spec: true });
    texts.set(own, query);
    return query;
  };
}
