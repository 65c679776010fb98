import type { ServerResponse } from "node:http";
import type { OperationFacts } from "../engine/engine.ts";
import { type Identity, openScope, type RequestScope } from "../request-scope.ts";
import { onceOver } from "./connection.ts";

/** What is known of a GraphQL request from its beginning to its end. */
export interface RequestState extends OperationFacts {
  readonly began: number;
  readonly scope: RequestScope;
}

/** Opens the state of a request. Its scope ends when the caller leaves. */
export function openRequest(identity: Identity, response: ServerResponse, timeoutMs: number): RequestState {
  const scope = openScope(identity, timeoutMs);
  onceOver(response, () => scope.end("left"));
  return { began: performance.now(), scope, type: "invalid", name: null, codes: [] };
}
