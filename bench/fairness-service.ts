import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { answerOf, token } from "./demo-answers.ts";

/** Delay of each response in milliseconds. The service sends the demo's responses from memory and accepts every token. */
const LATENCY_MS = 5;

const server = createServer(async ({ url = "" }, response) => {
  const answer = answerOf(url);
  const [{ status, body }] = await Promise.all([answer, sleep(LATENCY_MS)]);
  response.writeHead(status, { "content-type": "application/json", "content-length": body.length }).end(body);
});

server.listen(0, "127.0.0.1", () => {
  // Safe: a server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  process.send?.({ url: `http://127.0.0.1:${port}`, token });
});
process.once("disconnect", () => process.exit(0));
