import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  // A running gateway also works: `http://127.0.0.1:4000/graphql`.
  schema: "../../schema/schema.graphql",
  documents: "src/*.{ts,tsx}",
  importExtension: ".ts",
  generates: {
    "src/generated/": {
      preset: "client",
      // The default name, useFragment, looks like a hook, but the function is none.
      presetConfig: { fragmentMasking: { unmaskFunctionName: "readFragment" } },
      config: {
        useTypeImports: true,
        // The types allow for statuses that only a newer gateway has.
        futureProofEnums: true,
        // A scalar that is not listed here is an error and not an `any`.
        strictScalars: true,
        scalars: {
          DateTime: "string",
          JSON: "unknown",
          DateTimeOrDay: "string",
        },
      },
    },
  },
};

export default config;
