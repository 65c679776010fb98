import type { IncomingMessage } from "node:http";
import type { ExecutionResult } from "graphql";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import { noteErrors } from "../../engine/errors.ts";
import { type OpenedOperation, openStream, type Parts } from "../operation.ts";
import { jsonOf } from "./encoding.ts";
import { converted, messagesOf } from "./pieces.ts";

/** What a transport takes. */
interface Manner {
  /** Whether mutations are rejected. */
  readonly isReadOnly: boolean;
  /** Whether it takes the events of subscriptions. */
  readonly takesEvents: boolean;
  /** The form of results in pieces; null where they come whole. */
  readonly pieces: { readonly isOlder: boolean } | null;
  /** HTTP status of messages, null by WebSocket. */
  readonly status: number | null;
}

/** What an operation comes to: messages, or a single result. `isStream`: of a subscription, even one that could not be opened. */
type Outcome = { readonly isStream: boolean } & (
  | { readonly messages: AsyncIterableIterator<object> }
  | { readonly result: ExecutionResult; readonly messages?: undefined }
);

/**
 * Runs an operation for any transport. Never rejects. Reports it if it has messages, and then calls `onEnd` when they are over;
 * a single result is for its transport to report.
 */
export async function operate(
  parts: Parts,
  request: IncomingMessage,
  { operation, end }: OpenedOperation,
  readParams: () => OperationParams,
  { isReadOnly, takesEvents, pieces: form, status }: Manner,
  onEnd = () => {},
): Promise<Outcome> {
  const { engine, heldBytes } = parts;
  const { scope, facts, extensions } = operation;
  const finish = (result: ExecutionResult) => engine.finish(result, scope.requestId);
  const whole = (result: ExecutionResult, isStream = false): Outcome => ({
    result: engine.finish(result, scope.requestId, extensions),
    isStream,
  });
  try {
    const params = readParams();
    // Before it waits for a turn, as many others may.
    const held = heldBytes.holdJson(scope, params);
    if (takesEvents && (await engine.typeOf(params, scope)) === "subscription") {
      const open = () => openStream(parts, request, scope, held);
      const opened = await engine.subscribe({ scope, params, facts, openStream: open });
      if (!("results" in opened)) return whole(opened, true);
      end(status);
      const messages = converted(opened.results, (result) => jsonOf(finish(result)), onEnd);
      return { messages, isStream: true };
    }
    // It may hold another place, or none.
    const refused = parts.doors.admit("operation", scope);
    if (refused) throw refused;
    const limits = { isReadOnly, isIncremental: form !== null };
    const { pieces, ...result } = await engine.run(operation, params, limits);
    if (!pieces || !form) return whole(result);
    const over = () => (end(status), onEnd());
    const encoding = { isOlder: form.isOlder, finish, extensions };
    return { messages: messagesOf(result, pieces, encoding, over), isStream: false };
  } catch (error) {
    const errors = [parts.publicError(error)];
    noteErrors(facts, errors);
    return whole({ errors });
  }
}
