/**
 * Tests that run on all supported versions of Node.js, which `test/nodes` installs as packages. They run the built gateway, and import
 * hardly anything of `src`, because that would take each worker seconds.
 */
export const SMOKE: readonly string[] = [
  "test/config/built-demo.test.ts",
  "test/http/drain.test.ts",
  "test/memory/json-heap.test.ts",
];
