import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { startDemo } from "../src/demo/service.ts";

/** The demo's answers from memory, each of them a few milliseconds later, to every token. */
const LATENCY_MS = 5;

const demo = await startDemo();
const token = demo.users[0]?.token ?? "";
const known = new Map<string, Promise<{ status: number; body: Buffer }>>();

async function look(path: string) {
  const response = await fetch(demo.url + path, { headers: { authorization: `token ${token}` } });
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
}

const server = createServer(async ({ url = "" }, response) => {
  const answer = known.get(url) ?? look(url);
  known.set(url, answer);
  const [{ status, body }] = await Promise.all([answer, sleep(LATENCY_MS)]);
  response.writeHead(status, { "content-type": "application/json", "content-length": body.length }).end(body);
});

server.listen(0, "127.0.0.1", () => {
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  process.send?.({ url: `http://127.0.0.1:${port}`, token });
});
process.once("disconnect", () => process.exit(0));
