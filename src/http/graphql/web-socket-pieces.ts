import type { GraphQLError } from "graphql";
import type { OperationParams } from "../../engine/documents/persisted.ts";
import type { Engine, Operation } from "../../engine/engine.ts";
import { messagesOf } from "./pieces.ts";

/** A message of a result in pieces, as it is sent. */
export interface PieceMessage {
  readonly message: object;
}

interface Settings {
  readonly engine: Engine;
  /** Called once, after the last message or when the client has ended the operation. */
  readonly onEnd: () => void;
}

/** Runs a query over a WebSocket. Resolves with its messages, or with errors when there is no result. */
export async function runInPieces(
  operation: Operation,
  params: OperationParams,
  { engine, onEnd }: Settings,
): Promise<AsyncIterableIterator<PieceMessage> | readonly GraphQLError[]> {
  const { requestId } = operation.scope;
  const { pieces, ...result } = await engine.run(operation, params, {
    isReadOnly: true,
    isIncremental: true,
  });
  if (!pieces) {
    onEnd();
    const { errors = [], data } = engine.finish(result, requestId);
    return data === undefined ? errors : only({ message: { ...(errors.length > 0 && { errors }), data } });
  }
  const finish: Parameters<typeof messagesOf>[2]["finish"] = (part) => engine.finish(part, requestId);
  const messages = messagesOf({ ...result, pieces }, false, { finish, extensions: null });
  let isOver = false;
  const end = () => {
    if (!isOver) onEnd();
    isOver = true;
  };
  const iterator: AsyncIterableIterator<PieceMessage> = {
    next: async () => {
      const next = await messages.next();
      if (next.done) end();
      return next.done ? { done: true, value: undefined } : { done: false, value: next.value };
    },
    // First the pieces: a generator returns only after the message for which it waits.
    return: async () => {
      pieces.return();
      end();
      await messages.return(undefined);
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  return iterator;
}

async function* only(message: PieceMessage): AsyncGenerator<PieceMessage> {
  yield message;
}
