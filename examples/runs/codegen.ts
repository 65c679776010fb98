import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  // Of a gateway that runs: `http://127.0.0.1:4000/graphql`.
  schema: "../../schema/schema.graphql",
  documents: "src/*.{ts,tsx}",
  importExtension: ".ts",
  generates: {
    "src/generated/": {
      preset: "client",
      // The usual name, useFragment, looks like a hook and is none.
      presetConfig: { fragmentMasking: { unmaskFunctionName: "readFragment" } },
      config: {
        useTypeImports: true,
        // A newer gateway may know more statuses than this page: the types say so.
        futureProofEnums: true,
        // A scalar that is not listed here is a fault, not an `any`.
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
