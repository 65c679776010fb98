import { connect } from "node:net";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import type { Running, Service } from "./processes.ts";
import { FILES, targetOf } from "./sheet.ts";
import {
  allMetrics,
  endOfLog,
  expandingFragments,
  introspectionByAliases,
  logBehind,
  logOfNewlines,
  longDocument,
  recordOf,
  runUpdates,
  statusOf,
  wrongDocument,
} from "./soak-documents.ts";

/** One kind of caller. `width` callers run `act` repeatedly, with a pause after each run. */
export interface Actor {
  readonly name: string;
  readonly width: number;
  readonly pauseMs: number;
  /** Resolves to a name of the outcome, such as `ok` or an error code. */
  readonly act: (round: number) => Promise<string>;
}

const ordinaryFiles = [FILES["start page"], FILES["experiment page"], FILES["nested run graph"]];
/** Number of tokens of ordinary callers, so that each stays below its rate limit. */
const ORDINARY_TOKENS = 100;
const SUBSCRIBER_TOKENS = 5;
/** Matches values that change with time. */
const MOMENTS = /"durationSeconds":[\d.]+/g;

const outputsOf = (shape: string) =>
  `/downloads/${Buffer.from(`Experiment:hostile/${shape}/1`).toString("base64url")}/outputs`;

/** The head of a raw HTTP request, without its final line breaks. */
const lines = (...head: readonly string[]) =>
  [...head, "Host: gateway", "Authorization: token leaver"].join("\r\n");

export function createActors(gateway: Running, service: Service): readonly Actor[] {
  const pool = new Pool(gateway.url, { connections: 200, headersTimeout: 40_000 });
  const { hostname, port } = new URL(gateway.url);

  const post = async (body: string, token = "hostile"): Promise<string> => {
    const headers = { "content-type": "application/json", authorization: `token ${token}` };
    const answer = await pool.request({ method: "POST", path: "/graphql", headers, body });
    return answer.body.text();
  };
  const sendQuery = async (query: string, token?: string): Promise<string> =>
    wordOf(await post(JSON.stringify({ query }), token));
  const querying = (name: string, query: (round: number) => string, rest: Partial<Actor> = {}): Actor => ({
    name,
    width: 1,
    pauseMs: 250,
    act: (round) => sendQuery(query(round), `hostile-${name.replaceAll(/\W/g, "-")}`),
    ...rest,
  });

  const expected = new Map<string, string>();
  const ordinary = async (round: number): Promise<string> => {
    const file = ordinaryFiles[round % ordinaryFiles.length] ?? FILES["start page"];
    const { body } = targetOf(gateway, service, file);
    const answer = (await post(body, `light-${round % ORDINARY_TOKENS}`)).replaceAll(MOMENTS, "");
    const first = expected.get(file) ?? answer;
    expected.set(file, first);
    return answer === first && !answer.includes(`"errors":[`) ? "right" : `wrong: ${wordOf(answer)}`;
  };

  /** Sends requests on one connection and destroys it after `ms` milliseconds. */
  const abandon = async (requests: string, ms: number): Promise<string> => {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {}).resume();
    socket.write(requests);
    await sleep(ms);
    socket.destroy();
    return "left";
  };
  const download = `${lines(`GET ${outputsOf("outputs")} HTTP/1.1`)}\r\n\r\n`;
  const heavyBody = targetOf(gateway, service, FILES["group with 24 runs"]).body;
  const rawPost = `${lines("POST /graphql HTTP/1.1", "Content-Type: application/json")}\r\nContent-Length: ${Buffer.byteLength(heavyBody)}\r\n\r\n${heavyBody}`;

  /** Reads a response slowly, with a pause of 500 ms after each chunk, and disconnects after 10 s. */
  const dawdle = (path: string, body?: string): Promise<string> =>
    new Promise((done) => {
      const sent = request(`${gateway.url}${path}`, {
        method: body === undefined ? "GET" : "POST",
        agent: false,
        headers: {
          authorization: "token dawdler",
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
      });
      sent.on("error", () => {}).on("close", () => done("left"));
      sent.on("response", (response) => {
        response.on("error", () => {});
        const timer = setInterval(() => response.read(), 500);
        setTimeout(() => sent.destroy(), 10_000);
        sent.on("close", () => clearInterval(timer));
      });
      sent.end(body);
    });

  /** Opens 20 event streams of one token, reads them for a minute and destroys them. */
  const subscribe = async (round: number): Promise<string> => {
    const token = `subscriber-${round % SUBSCRIBER_TOKENS}`;
    const words = await Promise.all(
      Array.from({ length: 20 }, (_, at) => readEvents(runUpdates(at + 1), token)),
    );
    return words.find((word) => word !== "updates") ?? "updates";
  };
  const readEvents = (query: string, token: string): Promise<string> =>
    new Promise((done) => {
      let text = "";
      const headers = { accept: "text/event-stream", "content-type": "application/json" };
      const sent = request(`${gateway.url}/graphql`, {
        method: "POST",
        agent: false,
        headers: { ...headers, authorization: `token ${token}` },
      });
      const isUpdated = () => text.includes(`"RUNNING"`) && text.includes(`"WARNING"`);
      sent.on("error", () => {}).on("close", () => done(isUpdated() ? "updates" : wordOf(text)));
      sent.on("response", (response) => {
        response.setEncoding("utf8").on("data", (chunk: string) => void (text += chunk));
        response.on("error", () => {});
      });
      sent.end(JSON.stringify({ query }));
      setTimeout(() => sent.destroy(), 60_000);
    });

  const brokenGets = [
    "variables=%7Bbroken",
    "extensions=%5B",
    "variables=7",
    "extensions=%7B%22persistedQuery%22%3A7%7D",
  ];
  const get = async (search: string): Promise<string> => {
    const answer = await pool.request({ method: "GET", path: `/graphql?query=%7B__typename%7D&${search}` });
    return wordOf(await answer.body.text());
  };

  return [
    { name: "ordinary", width: 4, pauseMs: 250, act: ordinary },
    { name: "subscribers", width: SUBSCRIBER_TOKENS, pauseMs: 1_000, act: subscribe },
    { name: "heavy token", width: 40, pauseMs: 50, act: async () => wordOf(await post(heavyBody, "heavy")) },
    querying("gzip then close", () => recordOf("gzip-closed"), { width: 2 }),
    querying("deflate until close", () => recordOf("deflate-until-close")),
    querying("cut answers", () => recordOf("cut"), { pauseMs: 1_000 }),
    querying("wrong types", () => recordOf("types"), { pauseMs: 1_000 }),
    querying("unrequested YAML", () => statusOf("yaml"), { pauseMs: 1_000 }),
    querying("odd encodings", (round) => statusOf("encoding", (round % 2) + 1), { pauseMs: 1_000 }),
    querying("early hints", () => statusOf("hints")),
    querying("log windows at large offsets", (round) => logBehind((round % 5) * 9_000_000), { pauseMs: 500 }),
    querying("ends of logs", () => endOfLog, { pauseMs: 1_000 }),
    querying("logs of newlines", () => logOfNewlines, { pauseMs: 2_000 }),
    querying("all metrics", () => allMetrics, { pauseMs: 2_000 }),
    querying("expanding fragments", () => expandingFragments(7), { pauseMs: 10_000 }),
    querying("introspection", () => introspectionByAliases(95), { pauseMs: 10_000 }),
    querying("different documents", longDocument, { pauseMs: 200 }),
    querying("wrong documents", wrongDocument, { pauseMs: 1_000 }),
    { name: "pipelined downloads", width: 1, pauseMs: 500, act: () => abandon(download.repeat(50), 200) },
    { name: "pipelined operations", width: 1, pauseMs: 500, act: () => abandon(rawPost.repeat(20), 50) },
    { name: "leavers", width: 4, pauseMs: 50, act: (round) => abandon(rawPost, round % 20) },
    { name: "slow downloads", width: 4, pauseMs: 100, act: () => dawdle(outputsOf("outputs")) },
    {
      name: "slow readers",
      width: 8,
      pauseMs: 100,
      act: () => dawdle("/graphql", JSON.stringify({ query: recordOf("long") })),
    },
    {
      name: "broken GETs",
      width: 1,
      pauseMs: 100,
      act: (round) => get(brokenGets[round % brokenGets.length] ?? ""),
    },
  ];
}

/** `ok`, the first error code of a response, or `no GraphQL`. */
const wordOf = (text: string): string =>
  /"code":"(\w+)"/.exec(text)?.[1] ??
  (text.startsWith(`{"data"`) && !text.includes(`"errors":[`) ? "ok" : "no GraphQL");

/** Number of outcomes of each actor, by name of the outcome. */
export type Tally = Map<string, Map<string, number>>;

/** Runs all actors until the signal is aborted. */
export async function perform(
  actors: readonly Actor[],
  { signal, tally }: { signal: AbortSignal; tally: Tally },
) {
  await Promise.all(
    actors.flatMap(({ name, width, pauseMs, act }) => {
      const words = new Map<string, number>();
      tally.set(name, words);
      return Array.from({ length: width }, async (_, at) => {
        for (let round = at; !signal.aborted; round += width) {
          const word = await act(round).catch(() => "no answer");
          if (signal.aborted) return;
          words.set(word, (words.get(word) ?? 0) + 1);
          await sleep(pauseMs);
        }
      });
    }),
  );
}
