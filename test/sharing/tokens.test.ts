import { expect, test, vi } from "vitest";
import { cases } from "../support/cases.ts";
import { metricOf } from "../support/metrics.ts";
import { startGateway } from "../support/gateway.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { type Fate, startLabelled } from "./labelled-service.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { seeded } from "../support/seeded.ts";
import { sharedReads } from "../support/sharing.ts";
import { post } from "../support/raw-requests.ts";

const TOKENS = ["ada", "bob", "cleo", "dan", "eve"];

const FATES: readonly Fate[] = [
  ...Array<Fate>(15).fill("answered"),
  "refused",
  "signed out",
  "failed",
  "unavailable",
  "cut off",
];

const FIELDS = [
  ...[1, 2, 3].map((id) => `e${id}: experiment(id: "ada.mnist.${id}") { rawStatus }`),
  `log: job(id: "ada.mnist.jobs.3") { logs(tailLines: 1) { text } }`,
];

const TTL_MS = 2_000;

/** Runs random operations of several tokens, commands, faults and disconnects, with a service that responds in any order. */
async function play(seed: number) {
  const random = seeded(seed);
  const below = (count: number) => Math.floor(random() * count);
  const pick = <Value>(all: readonly Value[]): Value => all[below(all.length)] as Value;
  const { clock, advance } = fakeClock();
  const service = await startLabelled(clock.now);
  const gateway = await startGateway({
    upstream: service,
    clock,
    env: { CACHE_TTL_MS: `${TTL_MS}`, CACHE_BYTES: "12000", UPSTREAM_PROFILE: "polyaxon-0.4" },
  });
  const wrong: string[] = [];
  let labels = 0;
  const running = new Map<Promise<void>, AbortController>();

  const send = (token: string, query: string, onAnswer: (answer: string) => void): void => {
    const caller = new AbortController();
    const headers = { authorization: `token ${token}` };
    const promise = post(`${gateway.url}/graphql`, { query }, headers, caller.signal)
      .then((response) => response.text())
      .then(onAnswer, () => {})
      .finally(() => running.delete(promise));
    running.set(promise, caller);
  };

  /** For each token, the number of the latest request when its last command got its response. */
  const commands = new Map<string, number>();

  const query = (token: string): void => {
    const [began, requests, command] = [clock.now(), service.count(), commands.get(token) ?? 0];
    const fields = FIELDS.filter(() => random() < 0.4);
    send(token, `{ any: __typename ${fields.join(" ")} }`, (answer) => {
      for (const [label, of, number] of answer.matchAll(/([a-z]+)_(\d+)/g)) {
        labels++;
        const request = Number(number);
        const age = began - service.arrivedAt(request);
        if (of !== token) wrong.push(`${token} got ${label}`);
        if (request <= command) wrong.push(`${label} came after a command that ended at ${command}`);
        if (service.answeredAt(request) < requests && age > TTL_MS)
          wrong.push(`${label} came ${age} ms later`);
      }
    });
  };

  let runs = 100;
  const command = (token: string): void => {
    const id = runs++;
    send(
      token,
      `mutation { stopExperiment(id: "ada.mnist.${id}", force: true) { clientMutationId: __typename } }`,
      () => {
        const answeredAt = service.answeredAtOf(`/${id}/stop`);
        commands.set(token, Math.max(commands.get(token) ?? 0, answeredAt));
      },
    );
  };

  const acts: readonly (readonly [weight: number, act: () => void])[] = [
    [40, () => query(pick(TOKENS))],
    [4, () => command(pick(TOKENS))],
    [45, () => service.decide(below(service.pending()), pick(FATES))],
    [4, () => pick([...running.values()])?.abort()],
    [7, () => advance(below(1_500))],
  ];
  const dice = acts.flatMap(([weight, act]) => Array<() => void>(weight).fill(act));
  for (let step = 0; step < 300; step++) {
    pick(dice)();
    // Lets some ticks pass, in which requests may arrive.
    for (let round = below(8); round > 0; round--) await new Promise(setImmediate);
  }
  await vi.waitUntil(() => {
    service.decide(0, "answered");
    return running.size === 0;
  }, LONG_TIMEOUT);
  return {
    wrong,
    labels,
    inFlight: await sharedReads(gateway, "in flight"),
    kept: await sharedReads(gateway, "kept"),
    operations: await metricOf(gateway, "rungraph_operations_running"),
  };
}

test("tokens never get other tokens' data, or data that is too old", async () => {
  const sums = { labels: 0, inFlight: 0, kept: 0 };
  for (let seed = 1; seed <= cases(2, 15); seed++) {
    const { wrong, operations, ...counts } = await play(seed);
    expect(wrong, `seed ${seed}`).toEqual([]);
    expect(operations).toBe(0);
    for (const name of Object.keys(sums) as (keyof typeof sums)[]) sums[name] += counts[name];
  }
  // Minimum counts, without which the test would prove nothing.
  expect(sums.labels).toBeGreaterThan(50);
  expect(sums.inFlight).toBeGreaterThan(10);
  expect(sums.kept).toBeGreaterThan(10);
});
