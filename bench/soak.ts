import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type Service, startGateway } from "./processes.ts";
import { round, say } from "./sheet.ts";
import { createActors, perform, type Tally } from "./soak-actors.ts";
import { flatness, HEAD, rowOf, share, watch } from "./soak-samples.ts";

/*
 * Runs hostile callers and a hostile service beside ordinary callers: `npm run bench:soak -- SECONDS`. Exits with 0 if memory and file
 * descriptors stay flat, all ordinary responses are right and the gateway stays alive.
 */
const SECONDS = Number(process.argv[2] ?? process.env["SOAK_SECONDS"] ?? 600);
const ROW_SECONDS = 30;
/** Names of callers to leave out, separated by commas, to see how they affect the gateway. */
const WITHOUT = (process.env["SOAK_WITHOUT"] ?? "").split(",");

async function startService(): Promise<Service> {
  const child = fork(new URL("./soak-service.ts", import.meta.url), { execArgv: ["--import", "tsx"] });
  const [started] = (await once(child, "message")) as [{ url: string; token: string }];
  return { ...started, stop: () => child.kill() };
}

const service = await startService();
const gateway = await startGateway(service, {});
const over = new AbortController();
const { signal } = over;
let exit: string | null = null;
gateway.child.once("exit", (code, killedBy) => {
  if (!signal.aborted) exit = String(code ?? killedBy);
  over.abort();
});

const tally: Tally = new Map();
const ordinary = () => {
  const words = tally.get("ordinary") ?? new Map<string, number>();
  const right = words.get("right") ?? 0;
  return { right, wrong: [...words.values()].reduce((sum, count) => sum + count, 0) - right };
};

const watched = watch(gateway, signal);
const actors = createActors(gateway, service).filter(({ name }) => !WITHOUT.includes(name));
const performed = perform(actors, { signal, tally });
say(HEAD);
for (let second = 0; second < SECONDS && !signal.aborted; second += ROW_SECONDS) {
  const [sampled, probed] = [watched.samples.length, watched.latencies.length];
  await sleep(Math.min(ROW_SECONDS, SECONDS - second) * 1_000, undefined, { signal }).catch(() => {});
  say(rowOf(watched.samples.slice(sampled), watched.latencies.slice(probed), ordinary()));
}
over.abort();
await watched.over;

say("\n| Callers | Outcomes |\n|---|---|");
for (const [name, words] of tally) {
  say(`| ${name} | ${[...words].map(([word, count]) => `${word}: ${count}`).join(", ")} |`);
}

const { isFlat, lines } = flatness(watched.samples);
const { right, wrong } = ordinary();
const slowest = share(watched.latencies, 1);
say(
  [
    "",
    `Process: ${exit === null ? "alive" : `ENDED (${exit})`}`,
    ...lines,
    `Ordinary requests: ${right} right, ${wrong} WRONG`,
    `/healthz: p99 ${round(share(watched.latencies, 0.99))} ms, slowest ${round(slowest)} ms`,
    isFlat && exit === null && wrong === 0 && right > 0
      ? "Verdict: the gateway stays up."
      : "Verdict: THE GATEWAY DOES NOT STAY UP.",
  ].join("\n"),
);
process.exitCode = isFlat && exit === null && wrong === 0 && right > 0 ? 0 : 1;
// Does not wait for requests that are still in flight.
void performed;
gateway.child.kill("SIGKILL");
service.stop();
process.exit();
