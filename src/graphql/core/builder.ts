import SchemaBuilder from "@pothos/core";
import DirectivesPlugin from "@pothos/plugin-directives";
import FederationPlugin from "@pothos/plugin-federation";
import type { Context } from "./context.ts";

interface SchemaTypes {
  Context: Context;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: string; Output: string };
    JSON: { Input: unknown; Output: unknown };
    ParameterValue: { Input: string | number | boolean; Output: string | number | boolean };
  };
}

/** The schema builder. Fields are nullable by default; non-null is for values that the gateway guarantees. */
export const builder = new SchemaBuilder<SchemaTypes>({
  plugins: [DirectivesPlugin, FederationPlugin],
  directives: { useGraphQLToolsUnorderedDirectives: true },
});

/** The builder's extended types, for helpers that accept a ref. */
export type PothosTypes = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer Types> ? Types : never;
