import { Pool } from "undici";

export interface Request {
  readonly body: string;
  readonly authorization: string;
}

const TOKENS = 240;

/** So many callers that no one's share of the gateway is reached. */
export const authorizationOf = (turn: number): string => `token ${String(turn % TOKENS).padStart(40, "0")}`;

const headersOf = ({ authorization }: Request) => ({
  "content-type": "application/json",
  accept: "application/json",
  authorization,
});

export async function ask(url: string, request: Request): Promise<{ status: number; text: string }> {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: headersOf(request),
    body: request.body,
  });
  return { status: response.status, text: await response.text() };
}

/** Whether an answer looks as it looks without errors. Its content was compared before. */
const isGood = (status: number, text: string): boolean =>
  status === 200 && text.startsWith('{"data":{') && text.trimEnd().endsWith("}}");

/** Sends requests over so many connections, each as soon as it has its answer. Gives how many were answered well. */
export async function load(
  url: string,
  next: () => Request,
  { width, seconds }: { readonly width: number; readonly seconds: number },
): Promise<number> {
  const pool = new Pool(url, { connections: width });
  const end = performance.now() + seconds * 1_000;
  let answered = 0;
  const sendOne = () =>
    new Promise<void>((resolve, reject) => {
      const request = next();
      let status = 0;
      const parts: Buffer[] = [];
      pool.dispatch(
        { method: "POST", path: "/graphql", headers: headersOf(request), body: request.body },
        {
          onRequestStart: () => undefined,
          onResponseStart: (_controller, code) => void (status = code),
          onResponseData: (_controller, part) => void parts.push(part),
          onResponseEnd: () => {
            const text = Buffer.concat(parts).toString("latin1");
            if (!isGood(status, text))
              return reject(new Error(`expected data, got ${status} ${text.slice(0, 300)}`));
            answered++;
            resolve();
          },
          onResponseError: (_controller, error) => reject(error),
        },
      );
    });
  const callers = Array.from({ length: width }, async () => {
    while (performance.now() < end) await sendOne();
  });
  try {
    await Promise.all(callers);
  } finally {
    await pool.destroy();
  }
  return answered;
}
