import type { Answer } from "./gateway.ts";

/** The part of a list that an operation selects. */
export interface Listed {
  readonly nodes: readonly Readonly<Record<string, unknown>>[];
  readonly edges: readonly { readonly cursor: string; readonly node: Readonly<Record<string, unknown>> }[];
  readonly totalCount: number | null;
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  readonly scan: { readonly scannedRows: number; readonly isComplete: boolean } | null;
}

/** The list at a path of a result: `project.experiments`. */
export const listIn = ({ data }: Answer<unknown>, at: string): Listed =>
  // Safe: the operation selects a list at this path.
  at.split(".").reduce<unknown>((value, key) => Reflect.get(Object(value), key), data) as Listed;
