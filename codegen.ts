import type { CodegenConfig } from "@graphql-codegen/cli";

/** Typed documents of `schema/operations`, as a frontend would generate them; the tests use them. */
const config: CodegenConfig = {
  importExtension: ".ts",
  schema: "schema/schema.graphql",
  documents: "schema/operations/*.graphql",
  generates: {
    "test/generated/": {
      preset: "client",
      presetConfig: {
        fragmentMasking: false,
        // Writes `persisted-documents.json`: what `TRUSTED_DOCUMENTS` reads.
        persistedDocuments: { hashAlgorithm: "sha256" },
      },
      config: {
        useTypeImports: true,
        // A newer gateway may send values that this client has not heard of: switches need a default branch.
        futureProofEnums: true,
        strictScalars: true,
        scalars: { DateTime: "string", JSON: "unknown", ParameterValue: "string | number | boolean" },
      },
    },
  },
};

export default config;
