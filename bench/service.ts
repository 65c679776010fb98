import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setInterval } from "node:timers/promises";
import { answerOf, token } from "./demo-answers.ts";

/**
 * A service that is never the bottleneck. It requests each path from the demo once and responds from memory afterwards. A log sends one
 * line every 100 ms for 4 s. The process reports its URL and a valid token to its parent.
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
  // Safe: a server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  process.send?.({ url: `http://127.0.0.1:${port}`, token });
});
process.once("disconnect", () => process.exit(0));
