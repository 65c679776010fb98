interface Parameter {
  readonly name: string;
  readonly value?: unknown;
}

/** The parameters of a run by their names. */
export const parametersOf = (parameters: readonly Parameter[] | null | undefined) =>
  Object.fromEntries((parameters ?? []).map(({ name, value }) => [name, value]));

/** A value in words, the same wherever it stands: numbers without what their binary form adds, such as 0.30000000000000004. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return String(Number(value.toPrecision(12)));
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
