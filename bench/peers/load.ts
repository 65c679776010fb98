import { createConnection } from "node:net";

export interface Request {
  readonly body: string;
  readonly authorization: string;
}

const TOKENS = 240;

/** Returns one of 240 tokens in turn, so that no token reaches its limits. */
export const authorizationOf = (index: number): string => `token ${String(index % TOKENS).padStart(40, "0")}`;

export async function send(url: string, { body, authorization }: Request) {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", authorization },
    body,
  });
  return { status: response.status, text: await response.text() };
}

const bytesOf = ({ body, authorization }: Request): string =>
  `POST /graphql HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\naccept: application/json\r\n` +
  `authorization: ${authorization}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Returns whether a response begins and ends like one without errors. Its content was compared before the measurement. */
const isGood = (head: string, body: Buffer): boolean =>
  head.startsWith("HTTP/1.1 200 ") &&
  body.toString("latin1", 0, 9) === '{"data":{' &&
  body
    .toString("latin1", body.length - 4)
    .trimEnd()
    .endsWith("}}");

/**
 * Sends requests on one connection until `end`, each as soon as the previous response is complete. Returns the number of responses.
 * It does not use an HTTP client, which would need as much CPU time per request as the fastest contestants and slow them down. It requires
 * a `content-length`, which all contestants send.
 */
function sendSerially(port: number, next: () => Request, end: number): Promise<number> {
  const socket = createConnection({ host: "127.0.0.1", port, noDelay: true });
  let answered = 0;
  let chunks: Buffer[] = [];
  let received = 0;
  /** Length of the whole response in bytes. Null until its head has arrived. */
  let length: number | null = null;
  let head = "";
  return new Promise<number>((resolve, reject) => {
    socket.once("connect", () => socket.write(bytesOf(next())));
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      received += chunk.length;
      if (length === null) {
        const [first = chunk] = chunks.length === 1 ? chunks : [Buffer.concat(chunks)];
        const headLength = first.indexOf("\r\n\r\n") + 4;
        if (headLength < 4) return;
        head = first.toString("latin1", 0, headLength);
        length = headLength + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? Number.NaN);
      }
      if (received < length) return;
      const body = (chunks.length === 1 ? chunk : Buffer.concat(chunks)).subarray(head.length);
      if (received !== length || !isGood(head, body)) {
        reject(new Error(`expected data, got ${head}${body.toString("utf8", 0, 300)}`));
        return;
      }
      answered++;
      chunks = [];
      received = 0;
      length = null;
      if (performance.now() < end) socket.write(bytesOf(next()));
      else resolve(answered);
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the connection was closed")));
  }).finally(() => socket.destroy());
}

export interface Load {
  readonly width: number;
  readonly seconds: number;
}

/** Sends requests on `width` connections. Returns the number of responses. Throws if a response is not valid. */
export async function load(url: string, next: () => Request, { width, seconds }: Load): Promise<number> {
  const port = Number(new URL(url).port);
  const end = performance.now() + seconds * 1_000;
  const counts = await Promise.all(Array.from({ length: width }, () => sendSerially(port, next, end)));
  return counts.reduce((sum, count) => sum + count, 0);
}
