/**
 * Tests that run on all supported versions of Node.js, which `test/nodes` has as packages. They start the build, and import hardly anything
 * of `src`, which would take each worker seconds.
 */
export const SMOKE: readonly string[] = [
  "test/config/built-demo.test.ts",
  "test/http/drain.test.ts",
  "test/memory/json-heap.test.ts",
];
