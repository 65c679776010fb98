import { type AddressInfo, createServer } from "node:net";
import { listOf } from "./lists.ts";
import { responses } from "./records.ts";
import { createThrottle } from "./throttle.ts";

/*
 * The static service, as a process of its own. It reads requests without bodies from the socket and writes responses that
 * are ready as bytes: own code, because `node:http` takes as long for a request as the fastest contestants, which would wait
 * for it. The first argument is for how many seconds responses may be cached; without it they may not. It reports its address to its parent,
 * which sets delay and throttle, and receives the counts since it last did.
 */

export interface Behaviour {
  /** How long each response takes. */
  readonly delayMs?: number;
  /** How many requests of one token are served within a minute. */
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

/** The response to a path with its query. Lists are made once. */
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
  // A server that listens on TCP has an address of this form.
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
