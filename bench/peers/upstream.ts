import { type AddressInfo, createServer } from "node:net";
import { responses } from "./records.ts";

/*
 * The static service, as a process of its own. It reads GETs without bodies from the socket and writes responses that are
 * ready as bytes: own code, because `node:http` takes as long for a request as the fastest contestants, which would wait for it.
 * Its parent is told the address, sets the delay, and is told the number of requests since it last asked.
 */

const respond = (status: string, body: object): Buffer => {
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text);
  return Buffer.from(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${text}`,
  );
};

const byPath = new Map([...responses()].map(([path, body]) => [path, respond("200 OK", body)]));
const notFound = respond("404 Not Found", { detail: "Not found." });

let requests = 0;
let delayMs = 0;

const server = createServer({ noDelay: true }, (socket) => {
  let unread = "";
  const answer = (request: string) => {
    requests++;
    const [, path = ""] = /^GET ([^ ?]*?)\/?[ ?]/.exec(request) ?? [];
    const response = byPath.get(path) ?? notFound;
    if (delayMs === 0) socket.write(response);
    else setTimeout(() => socket.write(response), delayMs);
  };
  socket.on("data", (bytes) => {
    const parts = (unread + bytes.toString("latin1")).split("\r\n\r\n");
    unread = parts.pop() ?? "";
    parts.forEach(answer);
  });
  socket.on("error", () => socket.destroy());
});

server.listen(0, "127.0.0.1", () => {
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  process.send?.({ url: `http://127.0.0.1:${port}` });
});
process.on("message", (told: { readonly delayMs: number }) => {
  delayMs = told.delayMs;
  process.send?.({ requests });
  requests = 0;
});
process.once("disconnect", () => process.exit(0));
