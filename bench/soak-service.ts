import { randomBytes } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline, Readable } from "node:stream";
import { deflateSync, gzipSync } from "node:zlib";
import { answerOf, token } from "./demo-answers.ts";

/**
 * A service that sends the demo's responses from memory, and hostile ones below the owner `hostile`. The project in the path selects the
 * shape of a hostile response. The process reports its URL and a valid token to its parent.
 */
const record = (more: object = {}) => Buffer.from(JSON.stringify({ id: 1, last_status: "running", ...more }));
const hexadecimal = (length: number) => randomBytes(length / 2).toString("hex");

/** Random hexadecimal digits, which compress to half their size. */
const LONG = record({ description: hexadecimal(1_000_000) });
const GZIP = gzipSync(LONG);
const DEFLATED = deflateSync(LONG);
const YAML = Array.from({ length: 10_000 }, (_, key) => `key_${key}: { value: ${key} }`).join("\n");
const LINES = Buffer.from(`${hexadecimal(126)}\n`.repeat(8_000));
const ROWS = Array.from({ length: 5_000 }, (_, id) => ({
  id,
  created_at: "2026-06-01T12:00:00+00:00",
  values: { loss: id / 7, accuracy: 1 / (id + 1) },
}));
const METRICS = Buffer.from(
  JSON.stringify({ count: ROWS.length, next: null, previous: null, results: ROWS }),
);

/** A run whose status changes every four seconds. */
function runningOf(id: number) {
  const period = Math.floor(Date.now() / 4_000);
  return {
    id,
    unique_name: `hostile.live.${id}`,
    last_status: period % 2 === 1 ? "warning" : "running",
    updated_at: new Date(period * 4_000).toISOString(),
  };
}

const json = (response: ServerResponse, body: Buffer, headers: Record<string, string> = {}) =>
  void response
    .writeHead(200, { "content-type": "application/json", "content-length": body.length, ...headers })
    .end(body);

/** Streams the same lines repeatedly, as fast as the client reads them. */
function stream(response: ServerResponse, times: number): void {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
  pipeline(Readable.from(Array.from({ length: times }, () => LINES)), response, () => {});
}

const SHAPES: Readonly<Record<string, (response: ServerResponse, url: string) => void>> = {
  "gzip-closed": (response) => json(response, GZIP, { "content-encoding": "gzip", connection: "close" }),
  "deflate-until-close": (response) =>
    void response
      .writeHead(200, { "content-encoding": "deflate", connection: "close", "transfer-encoding": "identity" })
      .end(DEFLATED),
  cut: (response) => {
    response.writeHead(200, { "content-length": LONG.length });
    response.write(LONG.subarray(0, LONG.length / 2), () => response.socket?.end());
  },
  types: (response) => json(response, record({ tags: Array.from({ length: 300_000 }, () => 1) })),
  yaml: (response) => json(response, record({ content: YAML })),
  encoding: (response, url) =>
    json(response, record(), { "content-encoding": url.includes("/2") ? "martian" : "constructor" }),
  hints: (response) => {
    response.writeEarlyHints({ link: "</a>; rel=preload" }, () => json(response, record()));
  },
  // A log of 50 MB: `LINES` has 1 MB.
  log: (response) => stream(response, 50),
  newlines: (response) => json(response, Buffer.alloc(1_000_000, "\n")),
  outputs: (response) => stream(response, 20),
  metrics: (response) => json(response, METRICS),
  long: (response) => json(response, LONG),
  live: (response, url) => {
    const listed = /id%3A([\d%C|]+)/.exec(url)?.[1]?.split(/%7C|\|/);
    const results = (listed ?? [/experiments\/(\d+)\//.exec(url)?.[1]]).map((id) => runningOf(Number(id)));
    json(
      response,
      Buffer.from(JSON.stringify(listed ? { count: results.length, next: null, results } : results[0])),
    );
  },
};

const server = createServer(async (request, response) => {
  request.resume();
  response.on("error", () => {});
  const { url = "" } = request;
  const shape = /^\/api\/v1\/hostile\/([\w-]+)\//.exec(url)?.[1];
  if (shape !== undefined) {
    const answer = SHAPES[shape];
    return answer ? answer(response, url) : void response.writeHead(404).end();
  }
  const answer = answerOf(url);
  const { status, body } = await answer;
  return void response
    .writeHead(status, { "content-type": "application/json", "content-length": body.length })
    .end(body);
});

server.listen(0, "127.0.0.1", () => {
  // Safe: a server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  process.send?.({ url: `http://127.0.0.1:${port}`, token });
});
process.once("disconnect", () => process.exit(0));
