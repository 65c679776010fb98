import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setInterval } from "node:timers/promises";
import { answerOf, token } from "./demo-answers.ts";

/**
 * A service that is never the bottleneck: it requests each address from the demo once and answers from memory from then on.
 * A log is a line each 100 ms for 4 s. It reports its address and a valid token to its parent.
 */
const server = createServer(async ({ url = "" }, response) => {
  if (url.endsWith("/logs")) {
    response.writeHead(200, { "content-type": "text/plain" });
    let lines = 0;
    for await (const _ of setInterval(100)) {
      if (++lines > 40 || response.destroyed) break;
      response.write(`line ${lines}\n`);
    }
    response.end();
    return;
  }
  const answer = answerOf(url);
  const { status, body } = await answer;
  response.writeHead(status, { "content-type": "application/json", "content-length": body.length }).end(body);
});

server.listen(0, "127.0.0.1", () => {
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  process.send?.({ url: `http://127.0.0.1:${port}`, token });
});
process.once("disconnect", () => process.exit(0));
