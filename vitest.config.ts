import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    // Vitest would load two copies of graphql (`.mjs` for our files, `.js` for Yoga and Pothos),
    // and `instanceof GraphQLError` would fail between them.
    alias: [{ find: /^graphql$/, replacement: "graphql/index.js" }],
  },
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", "./test/closing-line.ts"],
    testTimeout: 20_000,
  },
});
