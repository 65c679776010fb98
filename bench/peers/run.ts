import { leaveFirstCore } from "../cores.ts";
import { conditions, writeResults } from "../results.ts";
import { say } from "../sheet.ts";
import { type Answers, askAll, requireEqual } from "./answers.ts";
import { CONTESTANTS } from "./contestants.ts";
import { measureCpu, measureLatency } from "./measure.ts";
import { OPERATIONS } from "./operations.ts";
import { residentBytes, start, type Started, startStaticService } from "./processes.ts";
import { tablesOf } from "./table.ts";

/*
 * Compares the built gateway with other servers of the same schema, operation by operation, in rounds. PEERS_ROUNDS and
 * PEERS_SECONDS: how many rounds, and how long each operation of each contestant takes in one. PEERS_ONLY=limit,Rungraph:
 * only these, and nothing is written.
 */

const ROUNDS = Number(process.env["PEERS_ROUNDS"] ?? 3);
const LOAD = { width: 32, seconds: Number(process.env["PEERS_SECONDS"] ?? 1.2) };

const ONLY = process.env["PEERS_ONLY"]?.split(",");

const cores = leaveFirstCore();
const service = await startStaticService();
const contestants: Started[] = [];
const absent: string[] = [];

/** Starts all contestants that run here. */
async function startAll(): Promise<void> {
  for (const contestant of CONTESTANTS) {
    if (ONLY && !ONLY.includes(contestant.name)) continue;
    const started = await start(contestant, service, cores?.first);
    if (typeof started !== "string") {
      contestants.push(started);
      continue;
    }
    const reason = `${contestant.name} does not run here: ${started}`;
    if (!contestant.isOptional) throw new Error(reason);
    absent.push(contestant.name);
    say(reason);
  }
}

/** Asks all contestants all operations. Throws unless their answers are equal. */
async function compareAnswers(): Promise<readonly Answers[]> {
  const answers: Answers[] = [];
  for (const started of contestants) {
    const given = await askAll(started, service);
    requireEqual(started.contestant.name, answers[0] ?? given, given);
    answers.push(given);
  }
  say(`${contestants.length} contestants give equal answers`);
  return answers;
}

/** CPU milliseconds of each contestant by operation and round. The first round warms up and does not count. */
async function measureRounds(): Promise<readonly ReadonlyMap<string, readonly number[]>[]> {
  const times = contestants.map(() => new Map(OPERATIONS.map(({ name }) => [name, [] as number[]])));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const operation of OPERATIONS) {
      for (const [index, started] of contestants.entries()) {
        const { cpuMs } = await measureCpu(started, operation, LOAD);
        if (round > 0) times[index]?.get(operation.name)?.push(cpuMs);
      }
    }
    say(`round ${round} of ${ROUNDS}`);
  }
  return times;
}

try {
  await startAll();
  const answers = await compareAnswers();
  const idle = contestants.map(({ pid }) => residentBytes(pid));
  const times = await measureRounds();
  const loaded = contestants.map(({ pid }) => residentBytes(pid));
  const latencies: number[] = [];
  for (const started of contestants) latencies.push(await measureLatency(started, service));
  const tables = tablesOf(
    contestants.map(({ contestant: { name } }, index) => ({
      name,
      cpuMs: times[index] ?? new Map<string, number[]>(),
      requests: answers[index]?.requests ?? new Map<string, number>(),
      latencyMs: latencies[index] ?? Number.NaN,
      idleBytes: idle[index] ?? Number.NaN,
      loadedBytes: loaded[index] ?? Number.NaN,
    })),
  );
  const notes = [
    `${conditions()} Rounds: ${ROUNDS}.`,
    cores ? "The contestant had a core of its own." : "Contestant, load and service shared the cores.",
    ...absent.map((name) => `${name} did not run.`),
  ];
  say(tables);
  if (!ONLY) writeResults("peers", `${notes.join(" ")}\n\n${tables}`);
} finally {
  for (const { stop } of contestants) stop();
  service.stop();
}
