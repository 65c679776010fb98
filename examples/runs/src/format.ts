const twoDigits = (whole: number) => String(whole).padStart(2, "0");

/** Formats seconds as `56:31` or `1:02:03`, and null as a dash. */
export function clock(seconds: number | null): string {
  if (seconds === null) return "–";
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = twoDigits(Math.floor(seconds % 60));
  return hours ? `${hours}:${twoDigits(minutes)}:${rest}` : `${minutes}:${rest}`;
}

/** Formats a metric value, and a missing one as a dash. */
export function inDigits(value: number | null | undefined): string {
  if (typeof value !== "number") return "–";
  const size = Math.abs(value);
  return size >= 1e6 || (size > 0 && size < 0.0005) ? value.toExponential(3) : value.toFixed(4);
}

/** Formats any value. Numbers have at most 12 digits, which hides binary rounding such as 0.30000000000000004. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return String(Number(value.toPrecision(12)));
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const bytes = new Intl.NumberFormat("en", { style: "unit", unit: "byte", notation: "compact" });

/** Formats a number of bytes, such as `3.4MB`. */
export const bytesInWords = (count: number) => bytes.format(count);

export const many = (count: number) => (count === 1 ? "1 run" : `${count.toLocaleString("en")} runs`);

interface Parameter {
  readonly name: string;
  readonly value?: unknown;
}

/** The values of parameters or metrics by name. */
export const valuesOf = <Value extends Parameter>(
  values: readonly Value[] | null | undefined,
): Readonly<Record<string, Value["value"]>> =>
  Object.fromEntries((values ?? []).map(({ name, value }) => [name, value]));

/** Splits a text at commas and spaces into tags. */
export const tagsIn = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** Whether smaller values of a metric are better. The service does not report it, so the name decides. */
export const isSmallerBetter = (metric: string) => /loss|err|mse|mae|perplexity|latency/i.test(metric);
