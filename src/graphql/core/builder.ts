import SchemaBuilder from "@pothos/core";
import type { Context } from "./context.ts";

interface SchemaTypes {
  Context: Context;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: string; Output: string };
    JSON: { Input: unknown; Output: unknown };
    ParameterValue: { Input: string | number | boolean; Output: string | number | boolean };
    _Any: { Input: unknown; Output: unknown };
  };
}

/** The schema builder. Fields are nullable by default; non-null is for values that the gateway guarantees. */
export const builder = new SchemaBuilder<SchemaTypes>({});

/** The builder's extended types, for helpers that accept a ref. */
export type PothosTypes = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer Types> ? Types : never;
