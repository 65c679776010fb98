import { megabytes, row } from "../sheet.ts";

const NONE: readonly number[] = [];

/** The results of one contestant. */
export interface Shown {
  readonly name: string;
  /** CPU milliseconds for a request, by operation and round. */
  readonly cpuMs: ReadonlyMap<string, readonly number[]>;
  /** Upstream requests, by operation. */
  readonly requests: ReadonlyMap<string, number>;
  readonly latencyMs: number;
  readonly idleBytes: number;
  readonly loadedBytes: number;
}

/** The quantile of the values, interpolated linearly. */
function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  return below + ((sorted[Math.ceil(at)] ?? Number.NaN) - below) * (at % 1);
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

const short = (value: number) => value.toFixed(value < 2 ? 2 : value < 10 ? 1 : 0);

/**
 * Formats the median ratio of all rounds with its quartiles: `1.27 (1.25–1.31)`. Within a round, other processes on the machine slow down
 * both servers alike. The limit itself is 1.
 */
function ratio(cpuMs: readonly number[], limit: readonly number[]): string {
  if (cpuMs === limit) return short(1);
  const ratios = cpuMs.map((value, index) => value / (limit[index] ?? Number.NaN));
  return `${short(median(ratios))} (${short(quantile(ratios, 0.25))}–${short(quantile(ratios, 0.75))})`;
}

/**
 * Formats the tables of a comparison. The first contestant is the baseline of the others. The column at 10 ms shows the latency of the
 * operation `waited`.
 */
export function tablesOf(title: string, waited: string, contestants: readonly Shown[]): string {
  const [limit] = contestants;
  if (limit === undefined) throw new Error("expected contestants, got none");
  const operations = [...limit.cpuMs.keys()];
  const rows = contestants.map(({ name, cpuMs, latencyMs, idleBytes, loadedBytes }) =>
    row(
      name,
      ...operations.map((each) => ratio(cpuMs.get(each) ?? NONE, limit.cpuMs.get(each) ?? NONE)),
      latencyMs.toFixed(1),
      `${megabytes(idleBytes)} / ${megabytes(loadedBytes)}`,
    ),
  );
  const absolute = operations.map((each) => `${each} ${median(limit.cpuMs.get(each) ?? []).toFixed(3)}`);
  const senders: Record<string, string[]> = {};
  for (const { name, requests } of contestants)
    (senders[operations.map((each) => `${each} ${requests.get(each) ?? "?"}`).join(", ")] ??= []).push(name);
  const sent = Object.entries(senders).map(([requests, names], _, { length }) =>
    length === 1 ? requests : `${requests} by ${names.join(", ")}`,
  );
  const others = [`${waited} at 10 ms, ms`, "RSS idle / after, MB"];
  return [
    row(`${title}: CPU per request, limit = 1`, ...operations, ...others),
    row("---", ...operations.map(() => "---:"), ...others.map(() => "---:")),
    ...rows,
    "",
    `The limit takes, in milliseconds: ${absolute.join(", ")}. Upstream requests: ${sent.join("; ")}.`,
  ].join("\n");
}
