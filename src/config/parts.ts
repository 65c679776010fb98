import type { Config } from "../config.ts";
import { type DocumentStore, persistedDocuments, trustedDocuments } from "../engine/documents/persisted.ts";

/** How many places of each kind there are, and how many one caller may have. */
export const quotasOf = (config: Config) => {
  const subscriptions = { total: config.MAX_SUBSCRIPTIONS, perCaller: config.MAX_SUBSCRIPTIONS_PER_TOKEN };
  return {
    operation: { total: config.MAX_OPERATIONS, perCaller: config.MAX_OPERATIONS_PER_TOKEN },
    stream: subscriptions,
    socket: subscriptions,
    download: { total: config.MAX_DOWNLOADS, perCaller: config.MAX_DOWNLOADS_PER_TOKEN },
    signIn: { total: config.MAX_SIGN_INS, perCaller: Math.ceil(config.MAX_SIGN_INS / 2) },
  };
};

/** The settings of subscriptions. */
export const subscriptionSettings = (config: Config) => ({
  requestsPerMinute: config.LIVE_REQUESTS_PER_MINUTE,
  requestTimeoutMs: config.REQUEST_TIMEOUT_MS,
  readTimeoutMs: config.READ_TIMEOUT_MS,
  maxBytes: config.MAX_BODY_BYTES,
});

/** The settings of the engine. */
export const engineSettings = (config: Config) => ({
  documents: documentsOf(config),
  cacheBytes: config.DOCUMENT_CACHE_BYTES,
  isIntrospectable: config.INTROSPECTION,
  limits: {
    depth: config.MAX_DEPTH,
    tokens: config.MAX_TOKENS,
    aliases: config.MAX_ALIASES,
    queryFields: config.MAX_ROOT_FIELDS,
    mutationFields: Math.ceil(config.MAX_ROOT_FIELDS / 2),
  },
  executionLimits: {
    selected: config.MAX_FIELDS,
    fields: config.MAX_RESULT_FIELDS,
    bytes: config.MAX_RESULT_BYTES,
  },
});

function documentsOf({ TRUSTED_DOCUMENTS, DOCUMENT_CACHE_BYTES }: Config): DocumentStore {
  if (TRUSTED_DOCUMENTS) return trustedDocuments(TRUSTED_DOCUMENTS);
  // The texts of persisted queries beside the parsed documents.
  return persistedDocuments(Math.ceil(DOCUMENT_CACHE_BYTES / 4));
}

/** The settings of reads that operations share. */
export const sharingSettings = (config: Config) => ({
  ttlMs: config.CACHE_TTL_MS,
  staleMs: config.STALE_MAX_AGE_MS,
  maxBytes: config.CACHE_BYTES,
});

/** The settings of `/mcp`. */
export const mcpSettings = (config: Config) => ({
  /** The types of operations that agents may run. */
  types: OPERATION_TYPES[config.MCP],
  trusted: config.TRUSTED_DOCUMENTS ?? null,
  isIntrospectable: config.INTROSPECTION,
  maxTokens: config.MAX_TOKENS,
});

const OPERATION_TYPES = { off: [], read: ["query"], write: ["query", "mutation"] } as const;

/** Whether GraphiQL is served. With trusted documents the page would be useless. */
export const hasPage = ({ GRAPHIQL, TRUSTED_DOCUMENTS }: Config): boolean => GRAPHIQL && !TRUSTED_DOCUMENTS;
