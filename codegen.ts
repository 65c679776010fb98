import type { CodegenConfig } from "@graphql-codegen/cli";
import { addTypenameSelectionDocumentTransform } from "@graphql-codegen/client-preset";

const config = {
  useTypeImports: true,
  // A newer gateway may send values that this client has not heard of: switches need a default branch.
  futureProofEnums: true,
  strictScalars: true,
  scalars: { DateTime: "string", DateTimeOrDay: "string", JSON: "unknown" },
};

/** Typed documents of `schema/operations`; the tests use them. */
const codegen: CodegenConfig = {
  importExtension: ".ts",
  schema: "schema/schema.graphql",
  documents: "schema/operations/*.graphql",
  generates: {
    "test/generated/": { preset: "client", presetConfig: { fragmentMasking: false }, config },
    "test/generated/trusted/": {
      preset: "client",
      // Writes `persisted-documents.json`: what `TRUSTED_DOCUMENTS` reads.
      presetConfig: { fragmentMasking: false, persistedDocuments: { hashAlgorithm: "sha256" } },
      // Clients with a normalized cache send `__typename` with every selection: the manifest must hold it.
      documentTransforms: [addTypenameSelectionDocumentTransform],
      config,
    },
  },
};

export default codegen;
