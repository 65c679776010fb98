import { readResults } from "../../bench/results.ts";
import { REFRESH_SECONDS } from "../../bench/scaling-minute.ts";
import { table } from "./table.ts";

/** A table of a section of bench/RESULTS.md, identified by the first words of its header. */
export function measured(section: string, words: string): string {
  const found = readResults(section)
    .split("\n\n")
    .find((block) => block.startsWith(`| ${words}`));
  if (found === undefined)
    throw new Error(`RESULTS.md: expected a table "${words}" in the section ${section}`);
  return found;
}

interface Cost {
  readonly requests: number;
  readonly cpuMs: number;
}

/** Upstream requests and CPU time of an operation that was measured. */
function costOf(title: string): Cost {
  const cells = measured("scaling", "Operation")
    .split("\n")
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .find(([, name]) => name === title);
  const [, , requests, cpuMs] = cells ?? [];
  if (!requests || !cpuMs) throw new Error(`RESULTS.md: expected a row "${title}" in the section scaling`);
  return { requests: Number(requests), cpuMs: Number(cpuMs) };
}

/** The target load of a process, which leaves a reserve for peaks. */
const SHARE_OF_CORE = 0.6;

function dashboard() {
  const [page, list] = [costOf("page of a run"), costOf("list of 50 runs")];
  return { requests: page.requests + list.requests, cpuMs: page.cpuMs + list.cpuMs };
}

const count = (value: number): string => Math.round(value).toLocaleString("en-US");

/** Cores that these refreshes keep busy. */
const coresFor = (refreshesPerMinute: number): number =>
  (refreshesPerMinute / 60) * (dashboard().cpuMs / 1_000);

const processesFor = (refreshesPerMinute: number): string =>
  count(Math.ceil(coresFor(refreshesPerMinute) / SHARE_OF_CORE));

const REFRESHES = 60 / REFRESH_SECONDS;

/** Numbers of dashboards, and the resources that they need. */
export const scale = (): string =>
  table(
    ["Open dashboards", "Upstream requests a second", "Cores in use", "Processes"],
    [1_000, 100_000, 1_000_000].map((dashboards) => {
      const refreshes = dashboards * REFRESHES;
      const cores = coresFor(refreshes);
      return [
        count(dashboards),
        count((refreshes * dashboard().requests) / 60),
        cores < 10 ? cores.toFixed(1) : count(cores),
        processesFor(refreshes),
      ];
    }),
  );

/** Builds and groups that the measured list of 50 links to. */
const LINKED = 8;
/** Default requests of one token's subscriptions per minute, and reads per minute of a poll without changes. */
const LIVE_BUDGET = 60;
const QUIET_TICKS = 12;

/** Circumstances that change the load of 100,000 dashboards. */
export function scaleOfChanges(): string {
  const { requests } = dashboard();
  const page = costOf("page of a run").requests;
  const rows: readonly [string, number, number | null][] = [
    ["as in the first table", REFRESHES * requests, REFRESHES],
    ["a refresh every minute", requests, 1],
    ["the server cannot filter by ids", REFRESHES * (page + 1 + LINKED), REFRESHES],
    ["each dashboard is open in two tabs, with `CACHE_TTL_MS=5000`", (REFRESHES * requests) / 2, REFRESHES],
    ["subscriptions, whose rate is at its maximum", LIVE_BUDGET, null],
    ["subscriptions, while nothing changes", 2 * QUIET_TICKS, null],
    ["subscriptions, all runs have finished", 0, null],
  ];
  return table(
    [
      "100,000 dashboards",
      "Upstream requests per minute and dashboard",
      "Upstream requests a second",
      "Processes",
    ],
    rows.map(([what, perMinute, refreshes]) => [
      what,
      count(perMinute),
      count((100_000 * perMinute) / 60),
      refreshes === null ? "not calculated" : processesFor(100_000 * refreshes),
    ]),
  );
}
