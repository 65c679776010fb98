import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { metricsOf, type Running } from "./processes.ts";
import { megabytes, round, row } from "./sheet.ts";

/** Measurements of the gateway at one moment. Sizes are in bytes, `at` in milliseconds. The heap is NaN if the gateway does not respond. */
export interface Sample {
  readonly at: number;
  readonly resident: number;
  readonly heap: number;
  readonly descriptors: number;
}

const PAGE = 4_096;
/** Timeout of a probe, in milliseconds. */
const PROBE_TIMEOUT_MS = 5_000;

/** Reads `/proc`, which only Linux has. */
async function sampleOf(gateway: Running, began: number): Promise<Sample> {
  const { pid } = gateway.child;
  const resident = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * PAGE;
  const descriptors = readdirSync(`/proc/${pid}/fd`).length;
  const text = await Promise.race([metricsOf(gateway), sleep(PROBE_TIMEOUT_MS, "")]).catch(() => "");
  const heap = Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]);
  return { at: performance.now() - began, resident, heap, descriptors };
}

async function probe({ url }: Running): Promise<number> {
  const began = performance.now();
  await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) }).then(
    (response) => response.text(),
    () => "",
  );
  return performance.now() - began;
}

/** Takes a sample every second and probes `/healthz` four times a second, until the signal is aborted. */
export function watch(gateway: Running, signal: AbortSignal) {
  const began = performance.now();
  const samples: Sample[] = [];
  const latencies: number[] = [];
  const repeat = async (ms: number, act: () => Promise<unknown>) => {
    while (!signal.aborted) {
      await act().catch(() => {});
      await sleep(ms);
    }
  };
  const over = Promise.all([
    repeat(1_000, async () => void samples.push(await sampleOf(gateway, began))),
    repeat(250, async () => void latencies.push(await probe(gateway))),
  ]);
  return { samples, latencies, over };
}

const numbersOf = (values: readonly number[]) =>
  values.filter((value) => !Number.isNaN(value)).toSorted((one, other) => one - other);

export const share = (values: readonly number[], quantile: number): number => {
  const ordered = numbersOf(values);
  return ordered[Math.min(ordered.length - 1, Math.floor(ordered.length * quantile))] ?? Number.NaN;
};
const median = (values: readonly number[]) => share(values, 0.5);

const MEASURES = { resident: "RSS", heap: "heap in use", descriptors: "descriptors" } as const;
type Measure = keyof typeof MEASURES;

/** Growth of a measure that counts as noise, such as that of one garbage collection or of a few connections. */
const NOISE: Readonly<Record<Measure, number>> = { resident: 30_000_000, heap: 30_000_000, descriptors: 20 };

const formatted = (measure: Measure, value: number) =>
  measure === "descriptors" ? round(value) : `${megabytes(value)} MB`;

/** Compares the median of the last third with that of the middle third. Growth of at most a tenth, or within `NOISE`, counts as flat. */
export function flatness(samples: readonly Sample[]): { readonly isFlat: boolean; readonly lines: string[] } {
  const end = samples.at(-1)?.at ?? 0;
  const third = (from: number, measure: Measure) =>
    median(
      samples
        .filter(({ at }) => at >= (end * from) / 3 && at < (end * (from + 1)) / 3)
        .map((each) => each[measure]),
    );
  const verdicts = (Object.keys(MEASURES) as Measure[]).map((measure) => {
    const [middle, last] = [third(1, measure), third(2, measure)];
    const isFlat = last <= Math.max(middle * 1.1, middle + NOISE[measure]);
    return {
      isFlat,
      line: `${MEASURES[measure]}: ${formatted(measure, middle)}, then ${formatted(measure, last)}: ${isFlat ? "flat" : "GROWS"}`,
    };
  });
  return { isFlat: verdicts.every(({ isFlat }) => isFlat), lines: verdicts.map(({ line }) => line) };
}

export const HEAD = [
  row("s", "RSS, MB", "heap, MB", "descriptors", "/healthz p50, p99, slowest, ms", "ordinary right", "wrong"),
  "|---|---|---|---|---|---|---|",
].join("\n");

/** Formats a row of the table: medians of the samples, and quantiles of the latencies. */
export function rowOf(
  samples: readonly Sample[],
  latencies: readonly number[],
  ordinary: { readonly right: number; readonly wrong: number },
): string {
  const of = (measure: Measure) => median(samples.map((each) => each[measure]));
  return row(
    round((samples.at(-1)?.at ?? 0) / 1_000),
    megabytes(of("resident")),
    megabytes(of("heap")),
    of("descriptors"),
    [0.5, 0.99, 1].map((quantile) => round(share(latencies, quantile))).join(", "),
    ordinary.right,
    ordinary.wrong,
  );
}
