import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { JSON_BODY, operationText, sendPlainly } from "../support/raw-requests.ts";
import { begin, readOn } from "../support/readers.ts";
import ENCODINGS from "./encodings.json" with { type: "json" };

const LONG = "x".repeat(20_000);
const QUERY = `{ experiment(id: "ada.mnist.42") { description } }`;

/** Starts a gateway in front of an experiment with this description. */
async function start(description: string, env: Record<string, string> = {}) {
  const service = await startFake(() => ({ json: { id: 42, description } }));
  return startGateway({ upstream: service, env });
}

/** Sends requests with Node's own client, which does not decompress. */
function ask(url: string, headers: Record<string, string>, method = "POST") {
  const search = method === "GET" ? `?${new URLSearchParams({ query: QUERY })}` : "";
  const options = { method, headers: { authorization: "token t0ken", ...JSON_BODY, ...headers } };
  return sendPlainly(
    `${url}/graphql${search}`,
    options,
    method === "POST" ? operationText(QUERY) : undefined,
  );
}

const dataOf = (body: Buffer) => (JSON.parse(body.toString()) as { data: object }).data;

describe("a response above 1 kB", () => {
  test.each(["POST", "GET"] as const)(
    "to %s is gzipped for clients that accept gzip, and marked no-store",
    async (method) => {
      const { url } = await start(LONG);
      const { headers, body } = await ask(url, { "accept-encoding": "gzip, deflate, br" }, method);
      expect(headers).toMatchObject({
        "content-encoding": "gzip",
        "content-length": String(body.length),
        "cache-control": "private, no-store",
        vary: "accept-encoding",
      });
      expect(body.length).toBeLessThan(1_000);
      expect(dataOf(gunzipSync(body))).toEqual({ experiment: { description: LONG } });
    },
  );

  test.each(ENCODINGS)(
    "for Accept-Encoding $accepted has content coding $encoding and a Vary header",
    async ({ accepted, encoding }) => {
      const { url } = await start(LONG);
      const { headers, body } = await ask(url, { "accept-encoding": accepted });
      expect([headers["content-encoding"] ?? null, headers["vary"]]).toEqual([encoding, "accept-encoding"]);
      expect(dataOf(encoding ? gunzipSync(body) : body)).toEqual({ experiment: { description: LONG } });
    },
  );
});

test("an event stream is not compressed, because compression would delay events", async () => {
  const { url } = await start(LONG);
  const { headers, body } = await ask(url, { "accept-encoding": "gzip", accept: "text/event-stream" });
  expect(headers["content-type"]).toContain("text/event-stream");
  expect(headers["cache-control"]).toBe("private, no-store, no-transform");
  expect(headers["content-encoding"]).not.toBe("gzip");
  expect(body.toString()).toContain(LONG);
});

test("unread compressed responses count towards MAX_WAITING_BYTES", async () => {
  // Random bytes, which hardly compress: more than the operating system buffers for a connection that the client does not read.
  const { url } = await start(randomBytes(7_000_000).toString("base64"), {
    MAX_WAITING_BYTES: "12000000",
    MAX_JSON_BYTES: "10000000",
  });
  const wish = { path: "/graphql", graphql: QUERY, headers: { "accept-encoding": "gzip" } };
  const answers: IncomingMessage[] = [];
  // One after the other, because the bytes that are counted during compression stay below the limit only for one response.
  while (answers.length < 5) answers.push((await once(begin(url, wish), "response"))[0] as IncomingMessage);
  const read = await Promise.all(answers.map((answer) => readOn(answer)));
  const whole = read.filter(({ isWhole }) => isWhole).length;
  expect(whole).toBeGreaterThan(0);
  expect(whole).toBeLessThan(5);
});
