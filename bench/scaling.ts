import { leaveFirstCore } from "./cores.ts";
import { type Contestant, rungraph } from "./peers/contestants.ts";
import { send } from "./peers/load.ts";
import { measureCpu, requestsOf } from "./peers/measure.ts";
import { start, type Started, startStaticService } from "./peers/processes.ts";
import { median } from "./peers/table.ts";
import { conditions, writeResults } from "./results.ts";
import { type Minute, measureMinute, REFRESH_SECONDS, SERVED_PER_MINUTE } from "./scaling-minute.ts";
import { operationsOf, type Sized } from "./scaling-operations.ts";
import { row, say } from "./sheet.ts";

/*
 * Measures the inputs of docs/scaling.md: CPU time and upstream requests of each operation. A measured minute of dashboards checks the
 * calculated results. The path of an older built checkout as argument adds its results.
 */

const ROUNDS = Number(process.env["SCALING_ROUNDS"] ?? 3);
const LOAD = { width: 8, seconds: Number(process.env["SCALING_SECONDS"] ?? 1.2) };
const PROFILE = { UPSTREAM_PROFILE: "polyaxon-0.4" };
/** Numbers of users and of dashboards per user, for about 200 dashboards in each case. */
const MINUTES = [
  { users: 200, each: 1 },
  { users: 100, each: 2 },
  { users: 66, each: 3 },
];

const [, , older] = process.argv;
const core = leaveFirstCore();
const service = await startStaticService();

async function startGateway(gateway: Contestant, of = service): Promise<Started> {
  const started = await start(gateway, of, core);
  if (typeof started === "string") throw new Error(`${gateway.name} does not start: ${started}`);
  return started;
}

interface Measured {
  readonly title: string;
  readonly objects: number;
  readonly requests: number;
  readonly cpuMs: number;
}

/** Counts the upstream requests of an operation that was sent once before. */
async function countRequests(gateway: Started, { operation, title }: Sized): Promise<number> {
  const next = requestsOf(gateway, operation);
  await send(gateway.url, next());
  await service.behave();
  const { text } = await send(gateway.url, next());
  if (text.includes('"errors":[')) throw new Error(`${title}: ${text.slice(0, 300)}`);
  return (await service.behave()).requests;
}

/** Measures each operation on each gateway, in rounds. The first round is a warm-up. */
async function measureOperations(gateways: readonly Started[]): Promise<readonly (readonly Measured[])[]> {
  const all = await Promise.all(gateways.map(({ url }) => operationsOf(url)));
  const times = new Map<Sized, number[]>(all.flat().map((each) => [each, []]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const index of all[0]?.keys() ?? []) {
      for (const [at, gateway] of gateways.entries()) {
        const sized = all[at]?.[index];
        if (sized === undefined) continue;
        const { cpuMs } = await measureCpu(gateway, sized.operation, LOAD);
        if (round > 0) times.get(sized)?.push(cpuMs);
      }
    }
    say(`operations, round ${round} of ${ROUNDS}`);
  }
  const measured: Measured[][] = [];
  for (const [at, gateway] of gateways.entries()) {
    const rows: Measured[] = [];
    for (const sized of all[at] ?? []) {
      const { title, objects } = sized;
      const requests = await countRequests(gateway, sized);
      rows.push({ title, objects, requests, cpuMs: median(times.get(sized) ?? []) });
    }
    measured.push(rows);
  }
  return measured;
}

const short = (value: number): string => value.toPrecision(value < 100 ? 2 : 3);

function operationsTable([now = [], before]: readonly (readonly Measured[])[]): string {
  const head = ["Operation", "Upstream requests", "CPU, ms", "CPU for each object, ms"];
  const more = before ? ["Before: requests", "Before: CPU, ms", "Before / now"] : [];
  return [
    row(...head, ...more),
    row(...[...head, ...more].map((_, index) => (index === 0 ? "---" : "---:"))),
    ...now.map(({ title, objects, requests, cpuMs }, index) => {
      const old = before?.[index];
      const cells = old ? [old.requests, short(old.cpuMs), short(old.cpuMs / cpuMs)] : [];
      return row(title, requests, short(cpuMs), short(cpuMs / objects), ...cells);
    }),
  ].join("\n");
}

/** Measures dashboards in front of a service that throttles. Shows the values predicted from the measured operations beside the results. */
async function measureDashboards(measured: readonly Measured[]): Promise<string> {
  const [page, list] = measured;
  const predicted = (dashboards: number, of: (each: Measured) => number): number =>
    page && list ? (dashboards * (of(page) + of(list)) * 60) / REFRESH_SECONDS : Number.NaN;
  const rows = await Promise.all(
    MINUTES.map(async ({ users, each }) => {
      const own = await startStaticService();
      const started = await startGateway(rungraph("gateway", PROFILE), own);
      const [first, second] = await operationsOf(started.url);
      for (const { operation } of [first, second]) await measureCpu(started, operation, LOAD);
      const minute: Minute = await measureMinute(started, own, [first.operation, second.operation], {
        users,
        each,
      });
      started.stop();
      own.stop();
      const dashboards = users * each;
      return row(
        users,
        each,
        `${minute.requests} of ${Math.round(predicted(dashboards, ({ requests }) => requests))}`,
        minute.throttled,
        `${minute.failed} of ${minute.operations}`,
        `${short(minute.cpuMs / 1_000)} of ${short(predicted(dashboards, ({ cpuMs }) => cpuMs) / 1_000)}`,
      );
    }),
  );
  return [
    row(
      "Users",
      "Dashboards of each",
      "Upstream requests, of predicted",
      "Refused with 429",
      "Operations with errors",
      "CPU seconds, of predicted",
    ),
    row("---:", "---:", "---:", "---:", "---:", "---:"),
    ...rows,
  ].join("\n");
}

const gateways = [await startGateway(rungraph("now", PROFILE))];
if (older) gateways.push(await startGateway(rungraph("before", PROFILE, older)));
const measured = await measureOperations(gateways);
for (const { stop } of gateways) stop();
const operations = operationsTable(measured);
say(operations);
const dashboards = await measureDashboards(measured[0] ?? []);
say(dashboards);
service.stop();

writeResults(
  "scaling",
  `${conditions()}

${operations}

One minute of dashboards, each of which requests the page and the list of 50 every ${REFRESH_SECONDS} s. The service serves
${SERVED_PER_MINUTE} requests per minute and user:

${dashboards}`,
);
