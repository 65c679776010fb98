import { leaveFirstCore } from "../cores.ts";
import type { Node } from "../product.ts";
import { conditions, writeResults } from "../results.ts";
import { say } from "../sheet.ts";
import { type Answers, sendAll, requireEqual } from "./answers.ts";
import { type Comparison, COMPARISONS } from "./comparisons.ts";
import type { Contestant } from "./contestants.ts";
import { measureCpu, measureLatency } from "./measure.ts";
import { majorOf, nodes } from "./nodes.ts";
import type { Operation } from "./operations.ts";
import { residentBytes, start, type Started, startStaticService, type StaticService } from "./processes.ts";
import { tablesOf } from "./table.ts";

/*
 * Compares the built gateway with other servers of the same schema, operation by operation, in rounds, on each version of Node.js.
 * PEERS_ROUNDS sets the number of rounds that count, PEERS_SECONDS the time per operation and contestant in each round.
 * PEERS_ONLY=limit,Rungraph runs only these contestants and writes nothing.
 */

const ROUNDS = Number(process.env["PEERS_ROUNDS"] ?? 9);
const LOAD = { width: 32, seconds: Number(process.env["PEERS_SECONDS"] ?? 1) };

const ONLY = process.env["PEERS_ONLY"]?.split(",");

const core = leaveFirstCore();
const NODES = nodes();
const absent = new Set<string>();

/** Starts the contestants that can run on this machine. */
async function startAll(
  contestants: readonly Contestant[],
  service: StaticService,
  node: Node,
): Promise<readonly Started[]> {
  const all: Started[] = [];
  for (const contestant of contestants) {
    // A contestant that does not run on Node.js is measured once.
    if (contestant.isNative && node !== NODES[0]) continue;
    if (ONLY && !ONLY.includes(contestant.name)) continue;
    const started = await start(contestant, service, core, node);
    if (typeof started !== "string") {
      all.push(started);
      continue;
    }
    const reason = `${contestant.name} does not run here: ${started}`;
    if (!contestant.isOptional) throw new Error(reason);
    absent.add(contestant.name);
    say(reason);
  }
  return all;
}

/** Sends all operations to all contestants. Throws unless their responses are equal. */
async function compareAnswers(
  contestants: readonly Started[],
  service: StaticService,
  operations: readonly Operation[],
): Promise<readonly Answers[]> {
  const answers: Answers[] = [];
  for (const started of contestants) {
    const given = await sendAll(started, service, operations);
    requireEqual(started.contestant.name, answers[0] ?? given, given);
    answers.push(given);
  }
  say(`${contestants.length} contestants return equal data`);
  return answers;
}

/** Returns the CPU milliseconds of each contestant by operation and round. The first round is a warm-up and does not count. */
async function measureRounds(
  contestants: readonly Started[],
  operations: readonly Operation[],
): Promise<readonly ReadonlyMap<string, readonly number[]>[]> {
  const times = contestants.map(() => new Map(operations.map(({ name }) => [name, [] as number[]])));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const operation of operations) {
      for (const [index, started] of contestants.entries()) {
        const { cpuMs } = await measureCpu(started, operation, LOAD);
        if (round > 0) times[index]?.get(operation.name)?.push(cpuMs);
      }
    }
    say(`round ${round} of ${ROUNDS}`);
  }
  return times;
}

/** Runs one comparison on one version of Node.js. Returns its tables. */
async function compare(
  { title, operations, waited, ...comparison }: Comparison,
  node: Node,
): Promise<string> {
  const name = `Node ${majorOf(node)}${title}`;
  say(name);
  const service = await startStaticService(comparison.cacheSeconds);
  const contestants = await startAll(comparison.contestants, service, node);
  try {
    const answers = await compareAnswers(contestants, service, operations);
    const idle = contestants.map(({ pid }) => residentBytes(pid));
    const times = await measureRounds(contestants, operations);
    const loaded = contestants.map(({ pid }) => residentBytes(pid));
    const latencies: number[] = [];
    for (const started of contestants) latencies.push(await measureLatency(started, service, waited));
    const shown = contestants.map(({ contestant }, index) => ({
      name: contestant.name,
      cpuMs: times[index] ?? new Map<string, number[]>(),
      requests: answers[index]?.requests ?? new Map<string, number>(),
      latencyMs: latencies[index] ?? Number.NaN,
      idleBytes: idle[index] ?? Number.NaN,
      loadedBytes: loaded[index] ?? Number.NaN,
    }));
    const tables = tablesOf(name, waited.name, shown);
    say(tables);
    return tables;
  } finally {
    for (const { stop } of contestants) stop();
    service.stop();
  }
}

const tables: string[] = [];

for (const node of NODES) for (const comparison of COMPARISONS) tables.push(await compare(comparison, node));
const notes = [
  `${conditions()} Servers on Node ${NODES.map(({ version }) => version).join(" and ")}.`,
  `Rounds: ${ROUNDS}, after one warm-up round.`,
  core ? "The contestant had a core of its own." : "Contestant, load and service shared the cores.",
  ...[...absent].map((name) => `${name} did not run.`),
];
if (!ONLY) writeResults("peers", [notes.join(" "), ...tables].join("\n\n"));
