import { leaveFirstCore } from "../cores.ts";
import { conditions } from "../results.ts";
import { row, say } from "../sheet.ts";
import { OF_RECORDS } from "./contestants.ts";
import { measureCpu } from "./measure.ts";
import { OPERATIONS } from "./operations.ts";
import { start, type Started, startStaticService } from "./processes.ts";
import { median } from "./table.ts";

/*
 * Measures which share of its capacity a server keeps with five times as many concurrent callers. The server has a core of its own. The
 * service and the load use the other cores. Prints a table and writes nothing.
 * OVERLOAD_ROUNDS sets the number of rounds that count, OVERLOAD_SECONDS the length of each measurement. If the core is not fully used, the
 * load was the bottleneck, and the share by CPU is more accurate.
 */

const ROUNDS = Number(process.env["OVERLOAD_ROUNDS"] ?? 5);
const SECONDS = Number(process.env["OVERLOAD_SECONDS"] ?? 3);
const USUAL = { width: 32, seconds: SECONDS };
const WARM_UP = { ...USUAL, seconds: 2 };
const OVERLOAD = { width: 5 * USUAL.width, seconds: SECONDS };
const NAMES = new Set(["limit", "Rungraph"]);

const percent = (share: number) => `${Math.round(share * 100)} %`;

const operations = OPERATIONS.filter(({ name }) => name === "Q1" || name === "Q2");
const ownCore = leaveFirstCore();
const service = await startStaticService();
const servers: Started[] = [];

/**
 * Results by round: requests per second at capacity and under overload, and the share of its core that the server used under overload.
 * `byCpu` is the CPU time of a request at capacity, divided by that under overload. The first round is a warm-up and does not count.
 */
interface Throughput {
  readonly capacity: number[];
  readonly overload: number[];
  readonly core: number[];
  readonly byCpu: number[];
}

async function measureRounds(): Promise<ReadonlyMap<string, Throughput>> {
  const measured = new Map<string, Throughput>();
  for (let round = 0; round <= ROUNDS; round++) {
    for (const operation of operations) {
      for (const server of servers) {
        const usual = await measureCpu(server, operation, USUAL);
        const overloaded = await measureCpu(server, operation, OVERLOAD);
        if (round === 0) continue;
        const name = `${server.contestant.name}, ${operation.name}`;
        const shown = measured.get(name) ?? { capacity: [], overload: [], core: [], byCpu: [] };
        shown.capacity.push(usual.perSecond);
        shown.overload.push(overloaded.perSecond);
        shown.core.push((overloaded.cpuMs * overloaded.perSecond) / 1_000);
        shown.byCpu.push(usual.cpuMs / overloaded.cpuMs);
        measured.set(name, shown);
      }
    }
    say(`round ${round} of ${ROUNDS}`);
  }
  return measured;
}

try {
  for (const contestant of OF_RECORDS.filter(({ name }) => NAMES.has(name))) {
    const started = await start(contestant, service, ownCore);
    if (typeof started === "string") throw new Error(`${contestant.name} does not start: ${started}`);
    servers.push(started);
  }
  // Warms up. The gateway admits many callers of one address only after the service has accepted their tokens.
  for (const server of servers) for (const each of operations) await measureCpu(server, each, WARM_UP);
  const measured = await measureRounds();
  say(conditions());
  if (!ownCore) say("Server, load and service shared the cores.");
  say(
    row(
      "",
      `${USUAL.width} connections, requests per second`,
      `${OVERLOAD.width} connections`,
      "share of capacity",
      "share by CPU",
      "core in use",
    ),
  );
  for (const [name, { capacity, overload, core, byCpu }] of measured) {
    const share = median(overload.map((value, index) => value / (capacity[index] ?? Number.NaN)));
    say(
      row(
        name,
        ...[median(capacity), median(overload)].map(Math.round),
        ...[share, median(byCpu), median(core)].map(percent),
      ),
    );
  }
} finally {
  for (const { stop } of servers) stop();
  service.stop();
}
