/**
 * Flags of Node with which the gateway runs. Short-lived objects are collected less often, long-lived ones earlier: see
 * docs/operations.md.
 */
export const NODE_FLAGS: readonly string[] = [
  "--disable-warning=ExperimentalWarning",
  "--max-semi-space-size=32",
  "--heap-growing-percent=50",
];
