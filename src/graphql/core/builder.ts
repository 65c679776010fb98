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

/** The schema under construction. Fields are nullable unless they say otherwise: `!` is for what the gateway can vouch for. */
export const builder = new SchemaBuilder<SchemaTypes>({
  plugins: [DirectivesPlugin, FederationPlugin],
  directives: { useGraphQLToolsUnorderedDirectives: true },
});

/** The builder's types as Pothos completes them, for helpers that take a ref. */
export type PothosTypes = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer Types> ? Types : never;
