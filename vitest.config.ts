import { existsSync } from "node:fs";
import { defineConfig } from "vitest/config";

/** Rooms with an install of their own: their tests run once `npm ci` was run there. */
const ROOMS = ["ecosystem", "examples/runs"];

const installed = ROOMS.filter((room) => existsSync(new URL(`${room}/node_modules`, import.meta.url)));
for (const room of ROOMS) {
  if (installed.includes(room)) continue;
  process.stdout.write(`The tests of ${room}/ do not run: npm ci --prefix ${room}\n`);
}

export default defineConfig({
  resolve: {
    // Vitest would load two copies of graphql (`.mjs` for our files, `.js` for Yoga and Pothos),
    // and `instanceof GraphQLError` would fail between them.
    alias: [{ find: /^graphql$/, replacement: "graphql/index.js" }],
  },
  test: {
    include: ["test/**/*.test.ts", ...installed.map((room) => `${room}/test/**/*.test.ts`)],
    globalSetup: ["./test/support/built-folder.ts"],
    reporters: ["default", "./test/support/closing-line.ts"],
    // A slow machine fails no test; what hangs is ended by these, or by the limit of CI.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // The schema is built once in each worker and not once in each file: tests clean up behind themselves.
    isolate: false,
    // Unless told, Vitest leaves one core idle: of two that is half of them.
    maxWorkers: "100%",
  },
});
