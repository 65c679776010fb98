import type { GraphQLError } from "graphql";
import type { Delivered, Piece, Pieces } from "./plan/pieces.ts";

interface Settings {
  /** Converts the errors of a part of the result, given as a whole result that contains only this part. */
  readonly convert: (result: {
    readonly errors: readonly GraphQLError[];
    readonly data: unknown;
  }) => GraphQLError[];
  readonly onErrors: (errors: readonly GraphQLError[]) => void;
  /** Called once, after the last piece or when nobody reads on. */
  readonly onEnd: () => void;
}

/** Makes the errors in the pieces of a result public. */
export function publicPieces(pieces: Pieces, { convert, onErrors, onEnd }: Settings): Pieces {
  let isOver = false;
  const end = (): void => {
    if (!isOver) onEnd();
    isOver = true;
  };

  const converted = (delivered: Delivered): Delivered => {
    if (delivered.errors.length === 0) return delivered;
    const { part, data = null, items, from = 0 } = delivered;
    const value = items ? Object.fromEntries(items.map((item, index) => [from + index, item])) : data;
    const whole = part.path.reduceRight<unknown>((below, key) => ({ [key]: below }), value);
    const errors = convert({ errors: delivered.errors, data: whole });
    onErrors(errors);
    return { ...delivered, errors };
  };

  return {
    pending: pieces.pending,
    next: async () => {
      const piece: Piece | null = await pieces.next();
      if (!piece?.hasNext) end();
      return piece && { ...piece, delivered: piece.delivered.map(converted) };
    },
    return: () => {
      pieces.return();
      end();
    },
  };
}
