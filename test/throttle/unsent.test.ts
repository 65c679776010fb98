import { expect, onTestFinished, test, vi } from "vitest";
import { startFake } from "../support/fake.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import { fakeClock } from "../support/fake-clock.ts";
import {
  askFor,
  experimentIn,
  firstCodeOf,
  OUTPUTS_OF_42,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  statusesOf,
  upTo,
} from "../support/one-read.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { refusal } from "../support/throttling.ts";
import { joined } from "../support/sharing.ts";

/** Starts a service that is away until the test changes its state. 20 reads have opened the circuit. */
async function startAway(env: Record<string, string> = {}) {
  let state: "away" | "up" | "refusing" = "away";
  const service = await startFake(({ path }) => {
    if (state === "away") return { json: {}, status: 503 };
    return state === "refusing" ? refusal(10) : { json: { ...RUNNING_RECORD, id: experimentIn(path) } };
  });
  const time = fakeClock();
  const gateway = await startGateway({ upstream: service, clock: time.clock, env });
  await gateway.ask(statusesOf(upTo(20)));
  return { service, gateway, time, be: (next: typeof state) => (state = next) };
}

/**
 * Starts a service that rejects its first read for 40 s and commands for 45 s, behind a gateway whose clock and deadlines the test
 * controls.
 */
async function startRefusingOnce() {
  const time = fakeClock();
  const began = Date.now();
  const spy = vi.spyOn(Date, "now").mockImplementation(() => began + time.clock.now());
  onTestFinished(() => spy.mockRestore());
  let asked = 0;
  const { service, ...gateway } = await startBefore(
    ({ method }) => {
      if (method !== "GET") return refusal(45);
      return ++asked === 1 ? refusal(40) : { json: RUNNING_RECORD };
    },
    { REQUEST_TIMEOUT_MS: "60000" },
    { clock: time.clock },
  );
  return { service, gateway, time };
}

test("downloads that the open circuit rejected do not delay later reads", async () => {
  const { gateway, time, be } = await startAway({ REQUEST_TIMEOUT_MS: "9000" });
  const download = () => fetch(gateway.url + OUTPUTS_OF_42, { headers: { authorization: "token t0ken" } });
  expect((await download()).status).toBe(503);
  be("up");
  time.advance(5_000);
  expect(firstCodeOf(await askFor(gateway))).toBe("ok");
  expect((await download()).status).toBe(200);
  be("refusing");
  expect(firstCodeOf(await askFor(gateway))).toBe("RATE_LIMITED");
  be("up");
  time.advance(10_000);
  expect(firstCodeOf(await askFor(gateway))).toBe("ok");
});

test("reads that the open circuit rejects do not count against the limit", async () => {
  const { service, gateway, time, be } = await startAway({ UPSTREAM_RATE_LIMIT: "40/60" });
  expect(service.seen()).toHaveLength(20);
  const { errors } = await gateway.ask(statusesOf(upTo(60)));
  expect(new Set(errors?.map(({ extensions }) => extensions["code"]))).toEqual(
    new Set(["UPSTREAM_UNAVAILABLE"]),
  );
  be("up");
  time.advance(5_000);
  expect(firstCodeOf(await askFor(gateway))).toBe("ok");
});

test("commands that a refusal leaves unsent do not count against the limit", async () => {
  const { gateway, time, be } = await startAway({ UPSTREAM_RATE_LIMIT: "40/60" });
  be("refusing");
  time.advance(5_000);
  const stop = (n: number) => `s${n}: stopExperiment(id: "ada.mnist.${n}", force: true) { outcome }`;
  await gateway.ask(`mutation { ${upTo(40).map(stop).join(" ")} }`);
  be("up");
  time.advance(60_000);
  expect(firstCodeOf(await askFor(gateway))).toBe("ok");
});

test("a read can wait longer than the earlier read that it joined", async () => {
  const { service, gateway, time } = await startRefusingOnce();
  const one = askFor(gateway);
  await vi.waitUntil(() => time.timers().includes(40_000), LONG_TIMEOUT);
  time.advance(30_000);
  const other = askFor(gateway);
  await joined(gateway, 1);
  // The rejection of this command prolongs the pause, to 75 s.
  await askFor(
    gateway,
    `mutation { stopExperiment(id: "ada.mnist.1", force: true) { experiment { status } } }`,
  );
  expect(firstCodeOf(await one)).toBe("RATE_LIMITED");
  time.advance(45_000);
  expect(await other).toEqual(RUNNING_ANSWER);
  expect(service.calls()).toHaveLength(3);
});
