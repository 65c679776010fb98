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
  statusOf,
  wrongDocument,
} from "./soak-documents.ts";

/** One kind of caller: so many of them, each of which acts, pauses and acts again. */
export interface Actor {
  readonly name: string;
  readonly width: number;
  readonly pauseMs: number;
  /** Gives what came of it in a word. */
  readonly act: (turn: number) => Promise<string>;
}

const ordinaryFiles = [FILES["start page"], FILES["experiment page"], FILES["nested run graph"]];
/** So many that ordinary callers stay below what a token may send in a minute, by which the gateway paces them. */
const ORDINARY_TOKENS = 100;
/** What is told of now. */
const MOMENTS = /"durationSeconds":[\d.]+/g;

const outputsOf = (shape: string) =>
  `/downloads/${Buffer.from(`Experiment:hostile/${shape}/1`).toString("base64url")}/outputs`;

/** The head of a request as it is on the wire, without its last line. */
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
  const ask = async (query: string, token?: string): Promise<string> =>
    wordOf(await post(JSON.stringify({ query }), token));
  const asking = (name: string, query: (turn: number) => string, rest: Partial<Actor> = {}): Actor => ({
    name,
    width: 1,
    pauseMs: 250,
    act: (turn) => ask(query(turn), `hostile-${name.replaceAll(/\W/g, "-")}`),
    ...rest,
  });

  const expected = new Map<string, string>();
  const ordinary = async (turn: number): Promise<string> => {
    const file = ordinaryFiles[turn % ordinaryFiles.length] ?? FILES["start page"];
    const { body } = targetOf(gateway, service, file);
    const told = (await post(body, `light-${turn % ORDINARY_TOKENS}`)).replaceAll(MOMENTS, "");
    const first = expected.get(file) ?? told;
    expected.set(file, first);
    return told === first && !told.includes(`"errors":[`) ? "right" : `wrong: ${wordOf(told)}`;
  };

  /** Requests on one connection that is destroyed a moment later. */
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

  /** Takes a piece of an answer now and then, and leaves. */
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
    { name: "heavy token", width: 40, pauseMs: 50, act: async () => wordOf(await post(heavyBody, "heavy")) },
    asking("gzip, closed behind", () => recordOf("gzip-closed"), { width: 2 }),
    asking("deflate, until close", () => recordOf("deflate-until-close")),
    asking("cut answers", () => recordOf("cut"), { pauseMs: 1_000 }),
    asking("wrong types", () => recordOf("types"), { pauseMs: 1_000 }),
    asking("YAML, unasked", () => statusOf("yaml"), { pauseMs: 1_000 }),
    asking("odd encodings", (turn) => statusOf("encoding", (turn % 2) + 1), { pauseMs: 1_000 }),
    asking("early hints", () => statusOf("hints")),
    asking("log windows far behind", (turn) => logBehind((turn % 5) * 9_000_000), { pauseMs: 500 }),
    asking("ends of logs", () => endOfLog, { pauseMs: 1_000 }),
    asking("logs of newlines", () => logOfNewlines, { pauseMs: 2_000 }),
    asking("all metrics", () => allMetrics, { pauseMs: 2_000 }),
    asking("expanding fragments", () => expandingFragments(7), { pauseMs: 10_000 }),
    asking("introspection", () => introspectionByAliases(95), { pauseMs: 10_000 }),
    asking("different documents", longDocument, { pauseMs: 200 }),
    asking("wrong documents", wrongDocument, { pauseMs: 1_000 }),
    { name: "pipelined downloads", width: 1, pauseMs: 500, act: () => abandon(download.repeat(50), 200) },
    { name: "pipelined operations", width: 1, pauseMs: 500, act: () => abandon(rawPost.repeat(20), 50) },
    { name: "leavers", width: 4, pauseMs: 50, act: (turn) => abandon(rawPost, turn % 20) },
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
      act: (turn) => get(brokenGets[turn % brokenGets.length] ?? ""),
    },
  ];
}

/** `ok`, or the first code of an answer. */
const wordOf = (text: string): string =>
  /"code":"(\w+)"/.exec(text)?.[1] ??
  (text.startsWith(`{"data"`) && !text.includes(`"errors":[`) ? "ok" : "no GraphQL");

/** What came of the acts of each actor: how often each word. */
export type Tally = Map<string, Map<string, number>>;

/** Lets all of them act until the signal. */
export async function perform(
  actors: readonly Actor[],
  { signal, tally }: { signal: AbortSignal; tally: Tally },
) {
  await Promise.all(
    actors.flatMap(({ name, width, pauseMs, act }) => {
      const words = new Map<string, number>();
      tally.set(name, words);
      return Array.from({ length: width }, async (_, at) => {
        for (let turn = at; !signal.aborted; turn += width) {
          const word = await act(turn).catch(() => "no answer");
          if (signal.aborted) return;
          words.set(word, (words.get(word) ?? 0) + 1);
          await sleep(pauseMs);
        }
      });
    }),
  );
}
