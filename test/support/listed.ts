import type { Answer } from "./gateway.ts";

/** A page of a list, as far as it was asked for. */
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

/** The list at a place of an answer: `project.experiments`. */
export const listIn = ({ data }: Answer<unknown>, at: string): Listed =>
  // Safe: it was asked for there.
  at.split(".").reduce<unknown>((value, key) => Reflect.get(Object(value), key), data) as Listed;
