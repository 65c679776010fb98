import { describe, expect, test, vi } from "vitest";
import { everyNth } from "../support/cases.ts";
import type { Seen, Told } from "../support/fake.ts";
import { type FaultServer, startFaultServer } from "../support/fault-server.ts";
import { hang, reset, say } from "../support/faults.ts";
import { startGateway } from "../support/gateway.ts";
import { handClock } from "../support/hand-clock.ts";
import { globalId } from "../support/ids.ts";
import { PATIENT } from "../support/patience.ts";

const page = (at: string, items: readonly object[], next: string | null = null): Told => ({
  json: { count: 4, next: next && `http://service/api/v1/${at}?${next}`, results: items },
});

function answer({ method, path }: Seen): Told | undefined {
  const at = path.replace("/api/v1/", "");
  const route = at.replace(/\?.*/, "");
  const id = Number(/\/(\d+)\//.exec(at)?.[1]);
  if (route === "users/token/") return { json: { token: "n3w" } };
  if (route === "users/") return { json: { username: "ada" } };
  if (method === "POST") return { json: {} };
  if (route.endsWith("/outputs")) return { text: "outputs" };
  if (route.endsWith("/jobs")) return page(route, [{ id: 1 }, { id: 2 }]);
  if (/statuses\/?$/.test(route)) {
    const items = [1, 2].map((status) => ({ id: status, status: "running" }));
    return page(route, items, at.includes("offset=2") ? null : "offset=2");
  }
  return {
    json: { id, unique_name: `ada.mnist.${id}`, last_status: "running", build_job: "ada.mnist.builds.5" },
  };
}

async function start() {
  const service = await startFaultServer(answer);
  const { clock, advance } = handClock();
  const gateway = await startGateway({ upstream: service, clock });
  const reads = Array.from({ length: 20 }, (_, id) => `e${id}: job(id: "ada.mnist.jobs.${id}") { status }`);
  /** Makes the circuit open. */
  const fail = async () => {
    service.fail(/./, reset);
    await gateway.ask(`{ ${reads.join(" ")} }`);
  };
  const one = async () => !(await gateway.ask(`{ job(id: "ada.mnist.jobs.30") { status } }`)).errors;
  return { service, gateway, advance, fail, one };
}

type Scene = Awaited<ReturnType<typeof start>>;

/** Runs so many operations at once, each with a number of its own. Resolves with whether each was answered whole. */
type Shape = (scene: Scene, numbers: readonly number[]) => Promise<readonly boolean[]>;

const asking =
  (queryOf: (number: number) => string): Shape =>
  ({ gateway }, numbers) =>
    Promise.all(numbers.map(async (number) => !(await gateway.ask(queryOf(number))).errors));

const DOWNLOAD = `/downloads/${globalId("Experiment:ada/mnist/42")}/outputs`;

const SHAPES: Readonly<Record<string, Shape>> = {
  // The list is asked for first, and without the record nobody waits for it.
  "a list that more fields wait for than for its record": asking(
    (id) => `{ experiment(id: "ada.mnist.${id}") {
      status
      a: jobs(first: 1) { nodes { internalId } }
      b: jobs(first: 1) { nodes { internalId } }
      c: jobs(first: 1) { nodes { internalId } }
    } }`,
  ),
  "a read that depends on another": asking(
    (id) => `{ experiment(id: "ada.mnist.${id}") { buildJob { status } } }`,
  ),
  "a list of linked pages": asking(
    (id) => `{ experiment(id: "ada.mnist.${id}") { statuses(first: 4) { nodes { status } } } }`,
  ),
  "a mutation with a read after it": asking(
    (id) => `mutation { stopExperiment(id: "ada.mnist.${id}", force: true) { experiment { status } } }`,
  ),
  "a login": asking(() => `mutation { login(input: { username: "ada", password: "x" }) { token } }`),
  "a download": ({ gateway }, numbers) =>
    Promise.all(
      numbers.map(async () => {
        const headers = { authorization: "token t0ken" };
        const response = await fetch(gateway.url + DOWNLOAD, { headers });
        return response.status === 200 && (await response.text()) === "outputs";
      }),
    ),
};

/** Lets the service be away, and gives what ends it. */
type Outage = (service: FaultServer) => unknown;

const OUTAGES: Readonly<Record<string, { readonly begin: Outage; readonly end: Outage }>> = {
  "refuses connections": { begin: ({ stop }) => stop(), end: ({ restart }) => restart() },
  "answers 503": { begin: ({ fail }) => fail(/./, say({ status: 503, text: "" })), end: () => {} },
  hangs: { begin: ({ fail }) => fail(/./, hang), end: () => {} },
};

const outages = Object.entries(OUTAGES).map(([outage, how], turn) => ({ outage, turn, ...how }));

describe.each(outages)("after a service that $outage is back", ({ outage, turn, begin, end }) => {
  // Without FULL each shape after one or two of the outages.
  const shapes = everyNth(Object.entries(SHAPES), 3, turn);
  test.each(shapes)("within 10 seconds all is answered: %s", async (shape, run) => {
    const scene = await start();
    const { service, advance, fail, one } = scene;
    let number = 100;
    // What one and 50 a second have in flight when the circuit lets them wait.
    for (const atOnce of [1, 10]) {
      const burst = () =>
        run(
          scene,
          Array.from({ length: atOnce }, () => ++number),
        );
      await fail();
      await begin(service);
      advance(5_000);
      // The service is back just after it was tried in vain, which is the worst moment.
      const before = service.seen().length;
      const waiting = one();
      if (outage === "hangs") {
        await vi.waitUntil(() => service.seen().length > before, PATIENT);
        advance(4_000);
      }
      expect(await waiting).toBe(false);
      service.heal();
      await end(service);
      const commands = service.calls(/^POST/).length;
      advance(5_000);
      expect(await burst()).toEqual(Array.from({ length: atOnce }, () => true));
      expect(await burst()).toEqual(Array.from({ length: atOnce }, () => true));
      const isCommand = shape === "a login" || shape.startsWith("a mutation");
      expect(service.calls(/^POST/).length - commands).toBe(isCommand ? 2 * atOnce : 0);
    }
  });
});
