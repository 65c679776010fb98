import type { ServerResponse } from "node:http";
import type { OperationFacts } from "../engine/engine.ts";
import { type Identity, RequestScope } from "../request-scope.ts";
import { onceOver } from "./connection.ts";

/** The state of one GraphQL request. */
export interface RequestState extends OperationFacts {
  /** When the request began, by `performance.now()`. */
  readonly began: number;
  readonly scope: RequestScope;
}

/** Opens the state of a request. Its scope ends when the caller disconnects. */
export function openRequest(identity: Identity, response: ServerResponse, timeoutMs: number): RequestState {
  const scope = new RequestScope(identity, timeoutMs);
  onceOver(response, () => scope.end("left"));
  return { began: performance.now(), scope, type: "invalid", name: null, codes: [] };
}
