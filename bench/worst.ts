import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { startWatched } from "../test/support/watched-process.ts";
import { PRODUCT } from "./product.ts";
import { type Shape, shape } from "./shapes.ts";
import { row, say } from "./sheet.ts";
import { answerOf, WALKS } from "./walks.ts";

/*
 * For each operation that traverses a record, draws random shapes of the record. Prints the shape that blocks the gateway's event loop
 * longest, beside the time that JSON.parse takes for the longest response.
 * `npm run bench:worst -- summary` runs only the operations whose name contains the word. WORST_RUNS sets the number of shapes. WORST_SEED
 * repeats the shapes of an earlier run.
 */

const RUNS = Number(process.env["WORST_RUNS"] ?? 40);
const SEED = Number(process.env["WORST_SEED"] ?? Date.now() % 1_000_000);
const [, , word = ""] = process.argv;
const TRIES = 3;
const TOKEN = "t0ken";

interface Found {
  readonly shape: Shape;
  readonly blockedMs: number;
  readonly parseMs: number;
  readonly tookMs: number;
  readonly bytes: number;
}

let drawn: Shape | null = null;
const answers = new Map<string, string | null>();

const answerTo = (path: string): string | null => {
  if (!answers.has(path)) answers.set(path, drawn && answerOf(drawn, path));
  return answers.get(path) ?? null;
};

const service = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "", "http://service");
  const text = answerTo(pathname);
  const head = { "content-type": "application/json" };
  if (text === null) response.writeHead(404, head).end('{"detail":"Not found."}');
  else response.writeHead(200, head).end(text);
});
service.listen(0, "127.0.0.1");
await once(service, "listening");
// Safe: a server that listens on TCP has an address of this form.
const { port } = service.address() as AddressInfo;
const gateway = await startWatched(PRODUCT, `http://127.0.0.1:${port}`);

const parseTime = (text: string): number => {
  const begun = process.cpuUsage();
  JSON.parse(text);
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1_000;
};

async function measure(walk: (typeof WALKS)[string], next: Shape): Promise<Found> {
  if (next !== drawn) answers.clear();
  drawn = next;
  const sent = walk(next);
  gateway.watch();
  const began = performance.now();
  const response = await ("path" in sent ? gateway.get(sent.path, TOKEN) : gateway.post(sent, TOKEN));
  await response.text();
  const tookMs = performance.now() - began;
  await sleep(5);
  const { blockedMs } = await gateway.condition();
  const longest = [...answers.values()].reduce<string>(
    (most, text) => (text && text.length > most.length ? text : most),
    "null",
  );
  return { shape: next, blockedMs, parseMs: parseTime(longest), tookMs, bytes: longest.length };
}

/** Returns the best of `TRIES` measurements, because one of them may include a garbage collection. */
async function measureAgain(walk: (typeof WALKS)[string], { shape: again }: Found): Promise<Found> {
  const tries: Found[] = [];
  for (let attempt = 0; attempt < TRIES; attempt++) tries.push(await measure(walk, again));
  return tries.reduce((best, next) => (next.blockedMs < best.blockedMs ? next : best));
}

const shapes = fc.sample(shape, { numRuns: RUNS, seed: SEED });
say(`${RUNS} shapes, WORST_SEED=${SEED}`);
say(row("operation", "blocked, ms", "parse, ms", "response, kB", "duration, ms", "shape"));
for (const [name, walk] of Object.entries(WALKS).filter(([each]) => each.includes(word))) {
  const found: Found[] = [];
  for (const each of shapes) found.push(await measure(walk, each));
  const worst = found.toSorted((one, other) => other.blockedMs - one.blockedMs)[0];
  if (!worst) continue;
  const { blockedMs, parseMs, bytes, tookMs, shape: of } = await measureAgain(walk, worst);
  const measured = [blockedMs, parseMs, bytes / 1_000, tookMs].map(Math.round);
  say(row(name, ...measured, JSON.stringify(of).replaceAll('"', "")));
}
gateway.stop();
service.closeAllConnections();
service.close();
