/** Codes of JSON-RPC errors. */
export const JSON_RPC_CODES = { invalidRequest: -32_600, server: -32_000 };

/** The body of a response that rejects a message before its id is read. */
export const jsonRpcError = (code: number, message: string, data: object): string =>
  JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message, data } });
