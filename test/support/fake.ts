import { listen } from "./listen.ts";

/** A request as a fake service saw it. */
export interface Seen {
  readonly method: string;
  /** Path and query as they were on the wire. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** What a fake service answers: a JSON body with status 200, or all of it. */
export type Told =
  | { readonly json: unknown; readonly status?: number; readonly headers?: Record<string, string> }
  | { readonly text: string | Buffer; readonly status?: number; readonly headers?: Record<string, string> };

/** `GET ada/mnist/jobs/3/`: a request without the prefix that all of them have. */
export const onWire = ({ method, path }: Pick<Seen, "method" | "path">): string =>
  `${method} ${path.replace("/api/v1/", "")}`;

/** A service that answers as told, over real HTTP. What it is not told of is a JSON 404. */
export async function startFake(answer: (seen: Seen) => Told | undefined | Promise<Told | undefined>) {
  const seen: Seen[] = [];
  const url = await listen(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = "", url: path = "", headers } = request;
    const asked = { method, path, headers, body: Buffer.concat(chunks).toString() };
    seen.push(asked);
    const told = (await answer(asked)) ?? { json: { detail: "Not found." }, status: 404 };
    const isJson = "json" in told;
    response.writeHead(told.status ?? 200, {
      "content-type": isJson ? "application/json" : "text/plain",
      ...told.headers,
    });
    response.end(isJson ? JSON.stringify(told.json) : told.text);
  });
  return {
    url,
    seen: () => seen,
    /** `GET ada/mnist/jobs/3/` for each request, in the order of their arrival. */
    inOrder: () => seen.map(onWire),
    /** The same in the order of the alphabet: what goes side by side arrives in any order. */
    calls: () => seen.map(onWire).toSorted(),
  };
}

/** A fake of fixed answers to GETs, by their path below `/api/v1/`. */
export const startRecords = (records: Record<string, unknown>) =>
  startFake(({ path }) => {
    const record = records[path.replace("/api/v1/", "")];
    return record === undefined ? undefined : { json: record };
  });
