import type { GraphQLError } from "graphql";
import type { Completed, Delivered, Path, Pending, Piece, Pieces } from "./plan/pieces.ts";

/** The pieces of a result as callers see them. Must be read to the end, or returned. */
export interface PublicPieces {
  /** The parts that the first result leaves out. */
  readonly pending: readonly Pending[];
  /** Resolves with null after the last. Never rejects. */
  readonly next: () => Promise<Piece | null>;
  readonly return: () => void;
}

interface Settings {
  /** Converts the errors of a part of the result, given as a whole result that contains only this part. */
  readonly convert: (result: {
    readonly errors: readonly GraphQLError[];
    readonly data: unknown;
  }) => readonly GraphQLError[];
  readonly onErrors: (errors: readonly GraphQLError[]) => void;
  /** Called once, after the last piece or when nobody reads on. */
  readonly onEnd: () => void;
}

/** Makes the pieces of a result public. */
export function publicPieces(pieces: Pieces, { convert, onErrors, onEnd }: Settings): PublicPieces {
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    onEnd();
  };

  const converted = <Part extends Delivered | Completed>(part: Part, path: Path, value: unknown): Part => {
    if (!part.errors) return part;
    const errors = convert({ errors: part.errors, data: nested(value, path) });
    onErrors(errors);
    return { ...part, errors };
  };
  const delivered = (part: Delivered): Delivered => {
    const path = [...pieces.pathOf(part.id), ...(part.subPath ?? [])];
    const { items, data, from = 0 } = part;
    const value = items ? Object.fromEntries(items.map((item, index) => [from + index, item])) : data;
    return converted(part, path, value);
  };

  return {
    pending: pieces.announced(),
    next: async () => {
      const piece = await pieces.next();
      if (!piece?.hasNext) end();
      return (
        piece && {
          ...piece,
          incremental: piece.incremental.map(delivered),
          completed: piece.completed.map((part) => converted(part, pieces.pathOf(part.id), null)),
        }
      );
    },
    return: () => {
      pieces.return();
      end();
    },
  };
}

/** A result in which a value stands at a path. */
const nested = (value: unknown, path: Path): unknown =>
  path.reduceRight<unknown>((below, key) => ({ [key]: below }), value);
