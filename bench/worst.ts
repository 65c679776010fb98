import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { startWatched } from "../test/harness-watched.ts";
import { costlyOperation, type Sent } from "../test/worst-operations.ts";
import { startService } from "./processes.ts";
import { megabytes, row, say } from "./sheet.ts";

/*
 * Searches for operations that hold the event loop of a gateway or stay in its memory, and prints the worst.
 * WORST_RUNS: how many are tried. WORST_SEED: the same ones again.
 */

const RUNS = Number(process.env["WORST_RUNS"] ?? 300);
const SEED = Number(process.env["WORST_SEED"] ?? Date.now() % 1_000_000);
/** Loops of an operation before it is measured: what is measured is the gateway, not the compiler. */
const WARM_UP = 20;

interface Found {
  readonly operation: Sent;
  readonly blockedMs: number;
  readonly heapBytes: number;
  readonly ms: number;
  readonly bytes: number;
  readonly codes: readonly string[];
}

const service = await startService();
const gateway = await startWatched(service.url);
const tried = fc.sample(costlyOperation, { numRuns: RUNS + WARM_UP, seed: SEED });
const found: Found[] = [];
let heapBefore = 0;

for (const [index, operation] of tried.entries()) {
  // The first look of the clock after a reset measures nothing.
  await sleep(20);
  const began = performance.now();
  const text = await (await gateway.post(operation, service.token)).text();
  const ms = performance.now() - began;
  await sleep(10);
  const { blockedMs, heapBytes } = await gateway.condition();
  const { errors = [] } = JSON.parse(text) as { errors?: { extensions: { code: string } }[] };
  const codes = [...new Set(errors.map(({ extensions }) => extensions.code))];
  if (index >= WARM_UP)
    found.push({ operation, blockedMs, heapBytes: heapBytes - heapBefore, ms, bytes: text.length, codes });
  heapBefore = heapBytes;
}
gateway.stop();
service.stop();

say(`${RUNS} operations, WORST_SEED=${SEED}`);
say(row("blocked, ms", "kept, MB", "took, ms", "answer, kB", "codes", "characters"));
const worst = found.toSorted((a, b) => b.blockedMs - a.blockedMs);
for (const { blockedMs, heapBytes, ms, bytes, codes, operation } of worst.slice(0, 10)) {
  const { length } = operation.query;
  say(
    row(
      Math.round(blockedMs),
      megabytes(heapBytes),
      Math.round(ms),
      Math.round(bytes / 1000),
      codes.join(" "),
      length,
    ),
  );
}
const [first] = worst;
say(`The worst:\n${JSON.stringify(first?.operation).slice(0, 4_000)}`);
