import type { Socket } from "node:net";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { cases } from "../support/cases.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { ASK_STATUS, askFor, RUNNING_RECORD } from "../support/one-read.ts";
import { startRaw } from "./framing.ts";
import PARTS from "./wire-parts.json" with { type: "json" };

/** Header lines of a response, valid and invalid. */
const HEADERS = [...PARTS.headers, "Set-Cookie: a\u0000b", `X-Long: ${"x".repeat(20_000)}`];
const ENDS = ["keeps", "ends", "destroys", "resets"] as const;

const response = fc.record({
  status: fc.constantFrom(...PARTS.statusLines),
  headers: fc.uniqueArray(fc.constantFrom(...HEADERS), { maxLength: 5 }),
  body: fc.constantFrom(...PARTS.bodies),
  end: fc.constantFrom(...ENDS),
  /** A response can arrive in several chunks, and one chunk can contain several responses. */
  cut: fc.nat({ max: 200 }),
  times: fc.constantFrom(1, 1, 1, 2),
});
type Response = typeof response extends fc.Arbitrary<infer Value> ? Value : never;

const ENDINGS: Readonly<Record<Response["end"], (socket: Socket) => unknown>> = {
  keeps: () => {},
  ends: (socket) => socket.end(),
  destroys: (socket) => socket.destroy(),
  resets: (socket) => socket.resetAndDestroy(),
};

/** Starts a service that answers each request with the same bytes. */
async function startWire() {
  let reported: Response | null = null;
  const received = new Set<unknown>();
  const { url } = await startRaw(({ head, socket }) => {
    received.add(/x-request-id: (\S+)/i.exec(head)?.[1]);
    if (!reported) return;
    const { status, headers, body, end, cut, times } = reported;
    const text = `${[status, ...headers, "", ""].join("\r\n")}${body}`.repeat(times);
    const bytes = Buffer.from(text, "latin1");
    socket.write(bytes.subarray(0, cut));
    setImmediate(() => socket.write(bytes.subarray(cut), () => ENDINGS[end](socket)));
  });
  return {
    url,
    /** Whether a request with this id has arrived. On a busy machine some requests time out before they are sent. */
    hasReceived: (requestId: unknown) => received.has(requestId),
    setResponse: (next: Response) => void (reported = next),
  };
}

/** The timeout is short, because some responses never end. */
const QUICK = {
  UPSTREAM_TIMEOUT_MS: "100",
  UPSTREAM_HEADERS_TIMEOUT_MS: "100",
  UPSTREAM_IDLE_TIMEOUT_MS: "100",
};

const KNOWN = /^(?:UPSTREAM_\w+|NOT_FOUND|RATE_LIMITED)$/;

test("survives arbitrary upstream bytes, and reports sent commands' outcomes as unknown", async () => {
  const service = await startWire();
  const query = `{ job(id: "ada.mnist.jobs.3") { status logs { text } } }`;
  const command = `mutation { copyExperiment(id: "ada.mnist.3") { experiment { internalId } } }`;
  await fc.assert(
    // Each gateway receives few requests, so that its circuit does not open.
    fc.asyncProperty(fc.array(response, { minLength: 6, maxLength: 6 }), async (responses) => {
      const { ask } = await startGateway({ upstream: service, env: QUICK });
      for (const each of responses) {
        service.setResponse(each);
        const [read, written] = (await Promise.all([ask(query), ask(command)])) as Answer<unknown>[];
        for (const { extensions } of [...(read?.errors ?? []), ...(written?.errors ?? [])]) {
          expect(extensions["code"]).toMatch(KNOWN);
        }
        const failed = (written?.errors ?? []).map(({ extensions }) => extensions);
        const arrived = failed.filter(({ requestId }) => service.hasReceived(requestId));
        expect(arrived.filter(({ outcome }) => outcome !== "unknown")).toEqual([]);
      }
    }),
    { numRuns: cases(15, 100) },
  );
});

const COMMANDS = [
  `mutation { stopExperiment(id: "ada.mnist.42", force: true) { experiment { id } } }`,
  `mutation { updateExperiment(id: "ada.mnist.42", input: { description: "x" }) { experiment { id } } }`,
  `mutation { login(input: { username: "ada", password: "x" }) { token } }`,
];
const OPERATIONS = [...COMMANDS, ASK_STATUS, `{ experiment(id: "ada.mnist.42") { logs { text } } }`];

const record = JSON.stringify({ ...RUNNING_RECORD, token: "n3w" });
const FINAL = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${record.length}\r\n\r\n${record}`;

test.each([
  ["102 Processing", "ok"],
  ["103 Early Hints\r\nLink: </style.css>; rel=preload", "ok"],
  ["103 Early Hints\r\n\r\nHTTP/1.1 103 Early Hints", "ok"],
  ["199 Whatever", "ok"],
  ["102 Processing\r\n\r\nHTTP/1.1 409 Conflict\r\nContent-Length: 0", "CONFLICT undefined"],
  // undici treats an unrequested 100 as the end of the connection.
  ["100 Continue", "UPSTREAM_UNAVAILABLE unknown"],
])("after an informational response %j, the result is %s", async (informational, outcome) => {
  const service = await startRaw(({ write }) => write(`HTTP/1.1 ${informational}\r\n\r\n${FINAL}`));
  for (const query of outcome === "ok" ? OPERATIONS : COMMANDS) {
    const before = service.seen().length;
    const { errors = [] } = await askFor(await startGateway({ upstream: service }), query);
    const reported = errors.map(({ extensions }) => `${extensions["code"]} ${extensions["outcome"]}`);
    expect([query, reported.join() || "ok"]).toEqual([query, outcome]);
    expect(service.seen().length - before).toBe(1);
  }
});

const hints = (count: number) => "103 Early Hints\r\n\r\nHTTP/1.1 ".repeat(count - 1) + "103 Early Hints";

test.each([
  [20, "ok"],
  [21, "UPSTREAM_BAD_RESPONSE unknown"],
])("after %i informational responses, the result of a command is %s", async (count, outcome) => {
  const service = await startRaw(({ write }) => write(`HTTP/1.1 ${hints(count)}\r\n\r\n${FINAL}`));
  for (const query of COMMANDS) {
    const { errors = [] } = await askFor(await startGateway({ upstream: service }), query);
    const reported = errors.map(({ extensions }) => `${extensions["code"]} ${extensions["outcome"]}`);
    expect([query, reported.join() || "ok"]).toEqual([query, outcome]);
  }
});

const OBJECTS = `[${"{},".repeat(100_000)}1]`;

test.each([
  [
    "in short chunks",
    "UPSTREAM_BAD_RESPONSE",
    `Transfer-Encoding: chunked\r\n\r\n${"1\r\n \r\n".repeat(12_000)}`,
  ],
  [
    "beyond the memory limit",
    "REQUEST_LIMIT_EXCEEDED",
    `Content-Length: ${OBJECTS.length}\r\n\r\n${OBJECTS}`,
  ],
])("a command with an answer %s has an unknown outcome", async (_, code, answer) => {
  const service = await startRaw(({ write }) => write(`HTTP/1.1 201 Created\r\n${answer}`));
  const gateway = await startGateway({ upstream: service, env: { MAX_UPSTREAM_BYTES: "1000000" } });
  const copy = `mutation { copyExperiment(id: "ada.mnist.3") { experiment { internalId } } }`;
  const { errors = [] } = await askFor(gateway, copy);
  expect(errors.map(({ extensions }) => extensions)).toMatchObject([{ code, outcome: "unknown" }]);
});

test.each([ASK_STATUS, `{ experiment(id: "ada.mnist.42") { logs { text } } }`])(
  "endless informational responses end the read %s",
  async (query) => {
    const service = await startRaw(({ socket, write }) => {
      const timer = setInterval(() => write(`HTTP/1.1 ${hints(10)}\r\n\r\n`), 5);
      socket.once("close", () => clearInterval(timer));
    });
    const { errors = [] } = await askFor(await startGateway({ upstream: service }), query);
    expect(errors.map(({ extensions }) => extensions["code"])).toEqual(["UPSTREAM_BAD_RESPONSE"]);
    await vi.waitUntil(() => service.busy() === 0, LONG_TIMEOUT);
  },
);

test("a log read fails with UPSTREAM_BAD_RESPONSE on an unrequested protocol switch", async () => {
  const service = await startRaw(({ write }) =>
    write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"),
  );
  const gateway = await startGateway({ upstream: service });
  const { errors = [] } = await askFor(gateway, `{ experiment(id: "ada.mnist.42") { logs { text } } }`);
  expect(errors.map(({ extensions }) => extensions["code"])).toEqual(["UPSTREAM_BAD_RESPONSE"]);
});
