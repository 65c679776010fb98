import { megabytes, row } from "../sheet.ts";

/** What one contestant showed. */
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

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

const short = (value: number) => value.toFixed(value < 2 ? 2 : value < 10 ? 1 : 0);

/** The median of the ratios of each round: what else ran on the machine meanwhile met both. */
const ratio = (cpuMs: readonly number[], limit: readonly number[]): number =>
  median(cpuMs.map((value, index) => value / (limit[index] ?? Number.NaN)));

/** The tables of the section in RESULTS.md. The first contestant is the measure of the others. */
export function tablesOf(contestants: readonly Shown[]): string {
  const [limit] = contestants;
  if (limit === undefined) throw new Error("expected contestants, got none");
  const operations = [...limit.cpuMs.keys()];
  const head = (title: string, ...others: readonly string[]) => [
    row(title, ...operations, ...others),
    row("---", ...operations.map(() => "---:"), ...others.map(() => "---:")),
  ];
  const ratios = contestants.map(({ name, cpuMs, idleBytes, loadedBytes }) =>
    row(
      name,
      ...operations.map((each) => short(ratio(cpuMs.get(each) ?? [], limit.cpuMs.get(each) ?? []))),
      `${megabytes(idleBytes)} / ${megabytes(loadedBytes)}`,
    ),
  );
  const details = contestants.map(({ name, requests, latencyMs }) =>
    row(name, ...operations.map((each) => requests.get(each) ?? ""), latencyMs.toFixed(1)),
  );
  const absolute = operations.map((each) => `${each} ${median(limit.cpuMs.get(each) ?? []).toFixed(3)}`);
  return [
    ...head("CPU per request, limit = 1", "RSS idle / after, MB"),
    ...ratios,
    "",
    `The limit takes, in milliseconds: ${absolute.join(", ")}.`,
    "",
    ...head("Upstream requests", "Q2 at 10 ms, ms"),
    ...details,
  ].join("\n");
}
