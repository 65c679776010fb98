import { leaveFirstCore } from "../cores.ts";
import type { Node } from "../product.ts";
import { conditions } from "../results.ts";
import { round, row, say } from "../sheet.ts";
import { OF_OVERLOAD } from "./contestants.ts";
import { measureCpu } from "./measure.ts";
import { majorOf, nodes } from "./nodes.ts";
import { PAGE, RECORD } from "./operations.ts";
import { start, type Started, startStaticService } from "./processes.ts";
import { median } from "./table.ts";

/*
 * What the built gateway still does with five times the connections that make its capacity, on a core of its own, and the limit
 * beside it. Each connection asks again as soon as it has its answer; an answer that is not good ends the command.
 * OVERLOAD_ROUNDS and OVERLOAD_SECONDS: how many rounds, and how long each load takes in one.
 */

const ROUNDS = Number(process.env["OVERLOAD_ROUNDS"] ?? 5);
const SECONDS = Number(process.env["OVERLOAD_SECONDS"] ?? 3);
const WIDTH = 32;
const TIMES = 5;

const cores = leaveFirstCore();
const service = await startStaticService();

const percent = (part: number) => `${Math.round(part * 100)} %`;

/** A contestant's rows, an operation each: of each round the parts, of the parts the median. */
async function measure(started: Started, name: string): Promise<readonly string[]> {
  const rows: string[] = [];
  for (const operation of [RECORD, PAGE]) {
    const load = (width: number) => measureCpu(started, operation, { width, seconds: SECONDS });
    await load(WIDTH);
    const rounds = [];
    for (let each = 0; each < ROUNDS; each++) {
      const [usual, over] = [await load(WIDTH), await load(WIDTH * TIMES)];
      rounds.push({ usual, over, part: over.perSecond / usual.perSecond });
    }
    const busy = rounds.map(({ over }) => (over.cpuMs * over.perSecond) / 1_000);
    rows.push(
      row(
        name,
        operation.name,
        round(median(rounds.map(({ usual }) => usual.perSecond))),
        round(median(rounds.map(({ over }) => over.perSecond))),
        percent(median(rounds.map(({ part }) => part))),
        percent(median(busy)),
      ),
    );
    say(rows.at(-1) ?? "");
  }
  return rows;
}

async function measureAll(node: Node): Promise<readonly string[]> {
  const rows: string[] = [];
  for (const contestant of OF_OVERLOAD) {
    const started = await start(contestant, service, cores?.first, node);
    if (typeof started === "string") throw new Error(`${contestant.name} does not run here: ${started}`);
    rows.push(...(await measure(started, `${contestant.name}, Node ${majorOf(node)}`)));
    started.stop();
  }
  return rows;
}

const rows: string[] = [];
for (const node of nodes()) rows.push(...(await measureAll(node)));
service.stop();
const columns = [
  "",
  "",
  `${WIDTH} connections, a second`,
  `${WIDTH * TIMES} connections, a second`,
  "of its capacity",
  "its core in use",
];
say(conditions());
say([row(...columns), row(...columns.map(() => "---")), ...rows].join("\n"));
