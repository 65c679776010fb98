/** Copies a value that outlives its request. Before Node 26, a token that was cut from a header keeps the whole header in memory. */
export const ownCopy = <Value>(value: Value): Value =>
  // Safe: the copy of a string is a string. Concatenation copies it ten times as fast as `structuredClone`.
  typeof value === "string" ? (` ${value}`.slice(1) as Value & string) : structuredClone(value);
