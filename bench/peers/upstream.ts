import { type AddressInfo, createServer } from "node:net";
import { listOf } from "./lists.ts";
import { responses } from "./records.ts";
import { createThrottle } from "./throttle.ts";

/*
 * The static service, which runs in its own process. It reads requests without bodies from the socket and writes prepared bytes. It does
 * not use `node:http`, which would need as much CPU time per request as the fastest contestants and slow them down.
 * The first argument is the time for which responses may be cached, in seconds. Without it they may not be cached. The process reports its
 * URL to its parent. The parent's messages set the delay and the throttle, and are answered with the counts since the previous message.
 */

export interface Behaviour {
  /** Delay of each response, in milliseconds. */
  readonly delayMs?: number;
  /** Maximum number of requests per token and minute. */
  readonly perMinute?: number;
}

export interface Seen {
  readonly requests: number;
  readonly throttled: number;
}

const respond = (status: string, body: object, header = ""): Buffer => {
  const text = JSON.stringify(body);
  const length = Buffer.byteLength(text);
  return Buffer.from(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${header}content-length: ${length}\r\n\r\n${text}`,
  );
};

const [, , cacheSeconds] = process.argv;
const keeping = cacheSeconds
  ? `cache-control: private, max-age=${cacheSeconds}, must-revalidate\r\nvary: authorization\r\n`
  : "";
const found = (body: object) => respond("200 OK", body, keeping);

const ready = new Map([...responses()].map(([path, body]) => [path, found(body)]));
const notFound = respond("404 Not Found", { detail: "Not found." });
const done = respond("200 OK", {});

/** Returns the response to a path with its query. Each list is built once. */
function responseTo(url: string): Buffer {
  const known = ready.get(url);
  if (known) return known;
  const list = listOf(url);
  const response = list ? found(list) : (ready.get(url.replace(/\/?(\?.*)?$/, "")) ?? notFound);
  ready.set(url, response);
  return response;
}

let seen = { requests: 0, throttled: 0 };
let delayMs = 0;
let throttle: ((token: string) => number | null) | null = null;

function answer(request: string): Buffer {
  seen.requests++;
  const wait = throttle?.(/^authorization: (.*)$/im.exec(request)?.[1] ?? "") ?? null;
  if (wait !== null) {
    seen.throttled++;
    const detail = `Request was throttled. Expected available in ${wait} seconds.`;
    return respond("429 Too Many Requests", { detail }, `retry-after: ${wait}\r\n`);
  }
  const [, method, url = ""] = /^(\w+) (\S+) /.exec(request) ?? [];
  return method === "GET" ? responseTo(url) : done;
}

const server = createServer({ noDelay: true }, (socket) => {
  let unread = "";
  socket.on("data", (bytes) => {
    const requests = (unread + bytes.toString("latin1")).split("\r\n\r\n");
    unread = requests.pop() ?? "";
    for (const request of requests) {
      const response = answer(request);
      if (delayMs === 0) socket.write(response);
      else setTimeout(() => socket.write(response), delayMs);
    }
  });
  socket.on("error", () => socket.destroy());
});

server.listen(0, "127.0.0.1", () => {
  // Safe: a server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  process.send?.({ url: `http://127.0.0.1:${port}` });
});
process.on("message", (behaviour: Behaviour) => {
  delayMs = behaviour.delayMs ?? 0;
  throttle = behaviour.perMinute ? createThrottle(behaviour.perMinute) : null;
  process.send?.(seen satisfies Seen);
  seen = { requests: 0, throttled: 0 };
});
process.once("disconnect", () => process.exit(0));
