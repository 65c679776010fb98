/**
 * Maximum nesting of JSON from callers and from the service, whose documented responses have six levels. Deep values overflow
 * the stack of recursive code.
 */
export const MAX_NESTING = 200;

/** Whether a value is nested more than `levels` deep. */
export const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));
