import { expect, onTestFinished, test, vi } from "vitest";
import { startFake } from "../support/fake.ts";
import { reaches } from "../support/figures.ts";
import { gate } from "../support/gate.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import { handClock } from "../support/hand-clock.ts";
import {
  askFor,
  experimentIn,
  firstCodeOf,
  OUTPUTS_OF_42,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  statusesOf,
  statusOf,
  upTo,
} from "../support/one-read.ts";
import { PATIENT } from "../support/patience.ts";
import { begin } from "../support/readers.ts";
import { refusal } from "../support/throttling.ts";
import { joined } from "../support/sharing.ts";

/** A service that is away until it is told otherwise: 20 reads have opened the circuit. */
async function startAway(env: Record<string, string> = {}) {
  let state: "away" | "up" | "refusing" = "away";
  const service = await startFake(({ path }) => {
    if (state === "away") return { json: {}, status: 503 };
    return state === "refusing" ? refusal(10) : { json: { ...RUNNING_RECORD, id: experimentIn(path) } };
  });
  const hand = handClock();
  const gateway = await startGateway({ upstream: service, clock: hand.clock, env });
  await gateway.ask(statusesOf(upTo(20)));
  return { service, gateway, hand, be: (next: typeof state) => (state = next) };
}

/** A service that refuses its first read for 40 s and commands for 45, behind a gateway whose clock and whose deadlines the story moves. */
async function startRefusingOnce() {
  const hand = handClock();
  const began = Date.now();
  const spy = vi.spyOn(Date, "now").mockImplementation(() => began + hand.clock.now());
  onTestFinished(() => spy.mockRestore());
  let asked = 0;
  const { service, ...gateway } = await startBefore(
    ({ method }) => {
      if (method !== "GET") return refusal(45);
      return ++asked === 1 ? refusal(40) : { json: RUNNING_RECORD };
    },
    { REQUEST_TIMEOUT_MS: "60000" },
    { clock: hand.clock },
  );
  return { service, gateway, hand };
}

test("downloads, and those that the open circuit rejects, leave nothing behind that later reads wait for", async () => {
  const { gateway, hand, be } = await startAway({ REQUEST_TIMEOUT_MS: "9000" });
  const download = () => fetch(gateway.url + OUTPUTS_OF_42, { headers: { authorization: "token t0ken" } });
  expect((await download()).status).toBe(503);
  be("up");
  hand.advance(5_000);
  expect(firstCodeOf(await askFor(gateway))).toBe("ok");
  expect((await download()).status).toBe(200);
  be("refusing");
  expect(firstCodeOf(await askFor(gateway))).toBe("RATE_LIMITED");
  be("up");
  hand.advance(10_000);
  expect(firstCodeOf(await askFor(gateway))).toBe("ok");
});

test("reads that the open circuit rejects are not sent, and do not count", async () => {
  const { service, gateway, hand, be } = await startAway({ UPSTREAM_RATE_LIMIT: "40/60" });
  expect(service.seen()).toHaveLength(20);
  const { errors } = await gateway.ask(statusesOf(upTo(60)));
  expect(new Set(errors?.map(({ extensions }) => extensions["code"]))).toEqual(
    new Set(["UPSTREAM_UNAVAILABLE"]),
  );
  be("up");
  hand.advance(5_000);
  expect(firstCodeOf(await askFor(gateway))).toBe("ok");
});

test("a read that has joined another one waits for longer than that", async () => {
  const { service, gateway, hand } = await startRefusingOnce();
  const one = askFor(gateway);
  await vi.waitUntil(() => hand.timers().includes(40_000), PATIENT);
  hand.advance(30_000);
  const other = askFor(gateway);
  await joined(gateway, 1);
  // Its refusal prolongs the pause, to 75 s.
  await askFor(
    gateway,
    `mutation { stopExperiment(id: "ada.mnist.1", force: true) { experiment { status } } }`,
  );
  expect(firstCodeOf(await one)).toBe("RATE_LIMITED");
  hand.advance(45_000);
  expect(await other).toEqual(RUNNING_ANSWER);
  expect(service.calls()).toHaveLength(3);
});

test("a caller that leaves while it waits for its pace gives back its place once: there are no more than before", async () => {
  const answers = gate();
  const service = await startFake(async ({ path }) => {
    if (experimentIn(path) === 100) await answers.opened;
    return { json: { ...RUNNING_RECORD, id: experimentIn(path) } };
  });
  const hand = handClock();
  const env = { MAX_OPERATIONS: "1", UPSTREAM_RATE_LIMIT: "4/60", REQUEST_TIMEOUT_MS: "120000" };
  const gateway = await startGateway({ upstream: service, clock: hand.clock, env });
  for (const token of ["bob", "eve"]) await askFor(gateway, statusOf(1), token);
  const leaver = begin(gateway.url, { path: "/graphql", graphql: statusesOf(upTo(5)) });
  await vi.waitUntil(() => hand.timers().length > 0, PATIENT);
  leaver.destroy();
  await reaches(gateway, "rungraph_operations_running", 0);
  const only = askFor(gateway, statusOf(100), "bob");
  await reaches(gateway, "rungraph_operations_running", 1);
  expect(firstCodeOf(await askFor(gateway, statusOf(1), "eve"))).toBe("SERVICE_OVERLOADED");
  answers.open();
  expect(firstCodeOf(await only)).toBe("ok");
});
