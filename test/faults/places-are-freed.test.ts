import { connect } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { startFake } from "../support/fake.ts";
import { metricOf, settled } from "../support/figures.ts";
import { wireOf } from "../support/framing.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { startHoldingRecords } from "../support/holding.ts";
import {
  ASK_STATUS,
  askFor,
  experimentIn,
  firstCodeOf,
  OUTPUTS_OF_42,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  statusOf,
} from "../support/one-read.ts";
import { PATIENT } from "../support/patience.ts";
import { sharedReads } from "../support/sharing.ts";
import { startRaw } from "../support/raw-service.ts";
import { begin, readFast, readOn } from "../support/readers.ts";

describe("many requests on one connection that is closed", () => {
  /** Sends them all at once, without waiting for answers; gives how to leave. */
  function pipeline(gateway: Gateway, request: string, times = 400): () => void {
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {}).resume();
    socket.write(request.repeat(times));
    return () => socket.destroy();
  }

  test("leave no download behind: no connection to the service stays open", async () => {
    let isLong = true;
    const half = { framing: "content-length", encoding: "none", connection: "kept" } as const;
    const service = await startRaw(({ send }) =>
      send(wireOf(half, Buffer.from("half and half"), isLong ? "held" : null)),
    );
    const gateway = await startGateway({ upstream: service });
    const leave = pipeline(
      gateway,
      `GET ${OUTPUTS_OF_42} HTTP/1.1\r\nHost: gateway\r\nAuthorization: token t0ken\r\n\r\n`,
    );
    // So many are not waited for: the gateway ends the connection itself.
    await settled(gateway, () => service.seen().length);
    await vi.waitUntil(() => service.busy() === 0, PATIENT);
    leave();
    // MAX_DOWNLOADS_PER_TOKEN, at its default.
    expect(service.connections()).toBeLessThanOrEqual(16);
    isLong = false;
    const received = await readFast(gateway.url, { path: OUTPUTS_OF_42 });
    expect(received?.body.toString()).toBe("half and half");
  });

  const body = JSON.stringify({ query: ASK_STATUS });
  const head = "HTTP/1.1\r\nHost: gateway\r\nAuthorization: token t0ken\r\n";
  const requests = {
    POST: `POST /graphql ${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    GET: `GET /graphql?${new URLSearchParams({ query: ASK_STATUS }).toString()} ${head}\r\n`,
  };

  test.each(Object.entries(requests))(
    "leave no operation behind: all places of %ss are free",
    async (_, request) => {
      const service = await startHoldingRecords();
      const gateway = await startGateway({ upstream: service, env: { MAX_OPERATIONS: "4" } });
      const leave = pipeline(gateway, request, 30);
      await service.arrived(1);
      await settled(gateway, service.count);
      leave();
      const fourCodes = async () => {
        const answers = await Promise.all([1, 2, 3, 4].map((id) => askFor(gateway, statusOf(id))));
        return answers.map(firstCodeOf);
      };
      const codes = vi.waitFor(
        async () => expect(await fourCodes()).toEqual(["ok", "ok", "ok", "ok"]),
        PATIENT,
      );
      await service.releaseUntil([codes]);
      expect(await metricOf(gateway, "rungraph_upstream_requests_running")).toBe(0);
    },
  );
});

describe("callers who take nothing of a long answer", () => {
  /** Longer than what the system keeps for a connection that nobody reads. */
  const description = "x".repeat(9_000_000);
  const long = ASK_STATUS.replace("status", "description");

  async function startLong(env: Record<string, string>) {
    const service = await startFake(({ path }) => ({
      json: {
        ...RUNNING_RECORD,
        id: experimentIn(path),
        description: experimentIn(path) === 42 ? description : "short",
      },
    }));
    const gateway = await startGateway({ upstream: service, env: { MAX_JSON_BYTES: "10000000", ...env } });
    // A token that the service has accepted may have all places.
    await askFor(gateway, statusOf(1));
    const dawdle = () => {
      const sent = begin(gateway.url, { path: "/graphql", graphql: long });
      onTestFinished(() => void sent.destroy());
      const response = new Promise<Parameters<typeof readOn>[0] | null>((resolve) => {
        sent.once("response", resolve).once("close", () => resolve(null));
      });
      return { sent, response };
    };
    return { service, gateway, dawdle };
  }

  test("hold no operation's place, and get all of it once they read on", async () => {
    const { service, gateway, dawdle } = await startLong({
      MAX_OPERATIONS: "16",
      MAX_WAITING_BYTES: "400000000",
      READ_TIMEOUT_MS: "600000",
    });
    const dawdlers = Array.from({ length: 16 }, dawdle);
    const began = async () => service.seen().length + (await sharedReads(gateway, "in flight"));
    await vi.waitUntil(async () => (await began()) === 17, PATIENT);
    await vi.waitUntil(async () => firstCodeOf(await askFor(gateway, statusOf(1))) === "ok", PATIENT);
    for (const { response } of dawdlers) {
      const answer = await response;
      expect(answer?.statusCode).toBe(200);
      const { body, isWhole } = answer ? await readOn(answer) : { body: Buffer.alloc(0), isWhole: false };
      expect(isWhole && body.length > description.length).toBe(true);
    }
  });

  test("are let go when more than MAX_WAITING_BYTES waits for them all", async () => {
    const { gateway, dawdle } = await startLong({
      MAX_OPERATIONS: "16",
      MAX_WAITING_BYTES: "20000000",
      READ_TIMEOUT_MS: "600000",
    });
    const answers = await Promise.all(Array.from({ length: 6 }, dawdle).map(({ response }) => response));
    const read = await Promise.all(answers.map((answer) => answer && readOn(answer)));
    const whole = read.filter((each) => each?.isWhole).length;
    // Two answers fit, beside what the system's buffers hold.
    expect(whole).toBeGreaterThan(0);
    expect(whole).toBeLessThan(6);
    await vi.waitFor(async () => expect(firstCodeOf(await askFor(gateway, statusOf(1)))).toBe("ok"), PATIENT);
  });
});

describe("callers who leave while their requests wait", () => {
  test("while their upstream requests wait for a connection free the queue", async () => {
    const service = await startHoldingRecords();
    const gateway = await startGateway({
      upstream: service,
      env: { UPSTREAM_CONNECTIONS: "1", UPSTREAM_QUEUE: "3" },
    });
    const first = askFor(gateway, statusOf(1));
    await service.arrived(1);
    const waiting = () => metricOf(gateway, "rungraph_upstream_requests_waiting");
    const leavers = [2, 3, 4].map((id) => begin(gateway.url, { path: "/graphql", graphql: statusOf(id) }));
    await vi.waitUntil(async () => (await waiting()) === 3, PATIENT);
    for (const leaver of leavers) leaver.destroy();
    await vi.waitUntil(async () => (await waiting()) === 0, PATIENT);
    const others = [5, 6, 7].map((id) => askFor(gateway, statusOf(id)));
    await vi.waitUntil(async () => (await waiting()) === 3, PATIENT);
    const answers = await service.releaseUntil([first, ...others]);
    expect(answers.map(firstCodeOf)).toEqual(["ok", "ok", "ok", "ok"]);
    expect(service.seen()).toHaveLength(4);
  });

  test("while the service asks to be left alone free their place", async () => {
    const service = await startFake(({ path }) =>
      experimentIn(path) === 1
        ? { json: { detail: "slow down" }, status: 429, headers: { "retry-after": "25" } }
        : { json: RUNNING_RECORD },
    );
    const gateway = await startGateway({ upstream: service, env: { MAX_OPERATIONS: "1" } });
    const leaver = begin(gateway.url, { path: "/graphql", graphql: statusOf(1) });
    await vi.waitUntil(() => service.seen().length === 1, PATIENT);
    leaver.destroy();
    // The token itself has to wait.
    const ask = () => askFor(gateway, ASK_STATUS, "another");
    await vi.waitFor(async () => expect(await ask()).toEqual(RUNNING_ANSWER), PATIENT);
  });

  test("and requests whose time is over end the pause before the next try", async () => {
    const service = await startFake(({ path }) => ({
      text: "",
      status: 503,
      headers: { "retry-after": `${experimentIn(path)}` },
    }));
    const gatewayFor = (REQUEST_TIMEOUT_MS: string) =>
      startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "1", REQUEST_TIMEOUT_MS } });
    const [patient, short] = [await gatewayFor("30000"), await gatewayFor("50")];
    // The one with time pauses for a second. The other would pause for two, and has no time for either.
    const order: string[] = [];
    const ended = (name: string) => () => void order.push(name);
    await Promise.all([
      askFor(patient, statusOf(1)).then(ended("whose pause was over")),
      askFor(short, statusOf(2)).then(ended("whose time was over")),
    ]);
    expect(order).toEqual(["whose time was over", "whose pause was over"]);
    expect(service.seen()).toHaveLength(3);
  });
});
