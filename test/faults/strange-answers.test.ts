import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { metricOf } from "../support/figures.ts";
import { startGateway } from "../support/gateway.ts";
import {
  askFor,
  firstCodeOf,
  OUTPUTS_OF_42,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  statusOf,
} from "../support/one-read.ts";
import { startRaw } from "../support/raw-service.ts";
import { readFast } from "../support/readers.ts";

describe("an encoding that is none of those that are known", () => {
  /** A service whose next answers, as long as it is told so, are in this encoding. */
  async function startEncoding(encoding: string) {
    let isOdd = true;
    const record = Buffer.from(JSON.stringify(RUNNING_RECORD));
    const text = encoding.split(", ").length === 7 ? foldedSevenTimes(record) : record;
    const service = await startFake(() =>
      isOdd ? { text, headers: { "content-encoding": encoding } } : { json: RUNNING_RECORD },
    );
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_CONNECTIONS: "4" } });
    return { gateway, heal: () => void (isOdd = false) };
  }
  const foldedSevenTimes = (record: Buffer) =>
    Array.from({ length: 7 }).reduce<Buffer>((body) => gzipSync(body), record);
  const ten = Array.from({ length: 10 }, (_, id) => id + 1);

  test.each([
    ["constructor", statusOf],
    ["gzip, gzip, gzip, gzip, gzip, gzip, gzip", statusOf],
    ["gzip, martian", statusOf],
    ["martian, of a log", (id: number) => `{ experiment(id: "ada.mnist.${id}") { logs { text } } }`],
  ])("(%s) is a bad answer, and ten of them cost no place", async (encoding, queryOf) => {
    const { gateway, heal } = await startEncoding(encoding.replace(", of a log", ""));
    const answers = await Promise.all(ten.map((id) => askFor(gateway, queryOf(id))));
    expect(answers.map(firstCodeOf)).toEqual(ten.map(() => "UPSTREAM_BAD_RESPONSE"));
    heal();
    expect(await askFor(gateway)).toEqual(RUNNING_ANSWER);
    expect(await metricOf(gateway, "rungraph_upstream_requests_running")).toBe(0);
  });

  test("of a download is a bad answer, and ten of them cost no place", async () => {
    const { gateway, heal } = await startEncoding("constructor");
    const headers = { authorization: "token t0ken" };
    const responses = await Promise.all(ten.map(() => fetch(`${gateway.url}${OUTPUTS_OF_42}`, { headers })));
    expect(responses.map(({ status }) => status)).toEqual(ten.map(() => 502));
    heal();
    const received = await readFast(gateway.url, { path: OUTPUTS_OF_42 });
    expect(received).toMatchObject({ status: 200, isWhole: true });
  });
});

const SHORT_COMMANDS = {
  "a stop": `mutation { it: stopExperiment(id: "ada.mnist.42", force: true) { experiment { id } } }`,
  "an update": `mutation { it: updateExperiment(id: "ada.mnist.42", input: { description: "x" }) { experiment { id } } }`,
  "a deletion": `mutation { it: deleteExperiment(id: "ada.mnist.42") { __typename } }`,
  "a login": `mutation { it: login(input: { username: "ada", password: "x" }) { token } }`,
};

const SHORT_OPERATIONS = {
  ...SHORT_COMMANDS,
  "a record": `{ it: experiment(id: "ada.mnist.42") { status } }`,
  "a log": `{ it: experiment(id: "ada.mnist.42") { logs { text } } }`,
};

/** What an operation comes to when the service answers with these bytes: its error and outcome, or `ok`. */
async function answeredBy(bytes: string, query: string): Promise<string> {
  const service = await startRaw(({ write, socket }) => {
    write(bytes);
    if (!bytes.includes("Content-Length: ")) socket.end();
  });
  const gateway = await startGateway({ upstream: service, env: { REQUEST_TIMEOUT_MS: "8000" } });
  const { errors = [] } = await askFor(gateway, query);
  expect(service.seen()).toHaveLength(1);
  return errors.map(({ extensions: { code, outcome } }) => `${code} ${outcome ?? ""}`.trim()).join() || "ok";
}

const body = JSON.stringify({ ...RUNNING_RECORD, token: "n3w" });
const FINAL = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

test.each(
  Object.entries({
    "102": "HTTP/1.1 102 Processing\r\n\r\n",
    "103": "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n",
    "103, three times over": "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(3),
    "199": "HTTP/1.1 199 Whatever\r\n\r\n",
    // undici takes a 100 that nobody asked for as the end of the connection.
    "100, unasked": "HTTP/1.1 100 Continue\r\n\r\n",
  }),
)(
  "an informational answer (%s) is passed over, or leaves the outcome of a command unknown",
  async (name, bytes) => {
    const isPassedOver = !name.startsWith("100");
    for (const query of Object.values(isPassedOver ? SHORT_OPERATIONS : SHORT_COMMANDS))
      expect(await answeredBy(bytes + FINAL, query)).toBe(
        isPassedOver ? "ok" : "UPSTREAM_UNAVAILABLE unknown",
      );
  },
);

const NOTHING = "Content-Length: 0\r\n\r\n";

// Others are among those of `wire.test.ts`.
test.each(
  Object.entries({
    "status 000": `HTTP/1.1 000 None\r\n${NOTHING}`,
    "status 999": `HTTP/1.1 999 None\r\n${NOTHING}`,
    "status 101, unasked": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    "only a 103": "HTTP/1.1 103 Early Hints\r\n\r\n",
    "no HTTP": "SSH-2.0-OpenSSH_9.6\r\n",
    "headers of 100 kB": `HTTP/1.1 200 OK\r\nX-Long: ${"x".repeat(100_000)}\r\n${NOTHING}`,
  }),
)(
  "an answer that cannot be understood (%s) is an error of the service, and leaves a command unknown",
  async (_, bytes) => {
    for (const query of Object.values(SHORT_OPERATIONS)) {
      const end = query.startsWith("mutation") ? " unknown$" : "$";
      expect(await answeredBy(bytes, query)).toMatch(
        new RegExp(`^UPSTREAM_(?:BAD_RESPONSE|UNAVAILABLE|ERROR)${end}`),
      );
    }
  },
);
