const twoDigits = (whole: number) => String(whole).padStart(2, "0");

/** Seconds as `56:31` or `1:02:03`; a dash where there are none. */
export function clock(seconds: number | null): string {
  if (seconds === null) return "–";
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = twoDigits(Math.floor(seconds % 60));
  return hours ? `${hours}:${twoDigits(minutes)}:${rest}` : `${minutes}:${rest}`;
}

/** A value of a metric in digits, the same wherever it stands; a dash where there is none. */
export function inDigits(value: number | null | undefined): string {
  if (typeof value !== "number") return "–";
  const size = Math.abs(value);
  return size >= 1e6 || (size > 0 && size < 0.0005) ? value.toExponential(3) : value.toFixed(4);
}

/** A value in words, the same wherever it stands: numbers without what their binary form adds, such as 0.30000000000000004. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return String(Number(value.toPrecision(12)));
  if (Array.isArray(value)) return value.map(textOf).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const bytes = new Intl.NumberFormat("en", { style: "unit", unit: "byte", notation: "compact" });

/** A number of bytes as `3.4MB`. */
export const bytesInWords = (count: number) => bytes.format(count);

export const many = (count: number) => (count === 1 ? "1 run" : `${count.toLocaleString("en")} runs`);

interface Parameter {
  readonly name: string;
  readonly value?: unknown;
}

/** The parameters, or the metrics, of a run by their names. */
export const valuesOf = <Value extends Parameter>(
  values: readonly Value[] | null | undefined,
): Readonly<Record<string, Value["value"]>> =>
  Object.fromEntries((values ?? []).map(({ name, value }) => [name, value]));

/** The tags of a text, with commas or spaces between them. */
export const tagsIn = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** Whether smaller values of a metric are better. Guessed from its name: the service does not report it. */
export const isSmallerBetter = (metric: string) => /loss|err|mse|mae|perplexity|latency/i.test(metric);
