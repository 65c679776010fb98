import { hash } from "node:crypto";
import { once } from "node:events";
import { Agent, get as httpGet } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { BUILT } from "../support/built.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { cases } from "../support/cases.ts";
import { openSocket } from "../support/admission.ts";
import { startFake } from "../support/fake.ts";
import { post } from "../support/raw-requests.ts";
import { startWatched } from "../support/watched-process.ts";

/** Characters around the few that may be retained: the maximum of a header, and the length of a large document. */
const PADDING = { header: 14_000, document: 220_000 };

const run = { id: 1, unique_name: "ada.mnist.1", last_status: "running", created_at: "2026-01-01T00:00:00Z" };

/** One record, which all streams share. */
const LONG_RUN = {
  ...run,
  id: 9,
  unique_name: "ada.mnist.experiments.9",
  description: "d".repeat(PADDING.document),
};

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

/** Sends a GET with headers that `fetch` would trim. */
async function get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const [response] = await once(httpGet(url, { agent, headers }), "response");
  response.resume();
  await once(response, "end");
}

const graphql = (url: string) => `${url}/graphql?query=%7B__typename%7D`;
const padded = (padding: number, text: string) => `${" ".repeat(padding)}${text}`;

const runUpdated = (id: number, name: string) =>
  `subscription ${name} { runUpdated(id: "ada.a-project-with-a-long-name.experiments.${id + 1}") { reason } }`;

/** Opens an event stream, and returns a function that disconnects. */
async function subscribe(url: string, query: string): Promise<() => void> {
  const leave = new AbortController();
  await post(`${url}/graphql`, { query }, { accept: "text/event-stream" }, leave.signal);
  return () => leave.abort();
}

interface Kind {
  readonly name: string;
  readonly padding: keyof typeof PADDING;
  readonly count: number;
  /** Whether the gateway may notice later that clients have left. */
  readonly isEventual?: boolean;
  readonly send: (url: string, index: number) => Promise<unknown>;
}

const KINDS: readonly Kind[] = [
  {
    name: "tokens out of headers",
    padding: "header",
    count: cases(1_000, 4_000),
    send: (url, index) =>
      get(graphql(url), { authorization: `token${padded(PADDING.header, `invented-token-${index}`)}` }),
  },
  {
    name: "addresses out of headers",
    padding: "header",
    count: cases(1_000, 4_000),
    send: (url, index) =>
      get(graphql(url), {
        "x-forwarded-for": `10.0.0.1,${padded(PADDING.header, `198.100.${100 + Math.floor(index / 100)}.${100 + (index % 100)}`)}`,
      }),
  },
  {
    name: "tokens out of connection_init",
    padding: "header",
    count: cases(300, 1_000),
    send: async (url, index) => {
      const { socket, sendMessage, closed } = await openSocket(
        { url },
        { token: null, from: "127.0.0.1" },
        false,
      );
      sendMessage({
        type: "connection_init",
        payload: { authorization: `token${padded(PADDING.header, `invented-token-${index}`)}` },
      });
      await once(socket, "message");
      socket.terminate();
      await closed;
    },
  },
  {
    name: "persisted documents out of URLs",
    padding: "header",
    count: cases(1_000, 4_000),
    send: (url, index) => {
      // The query is not percent-encoded, because decoding would copy it.
      const query = `{__typename,field${index}:__typename}`;
      const extensions = { persistedQuery: { version: 1, sha256Hash: hash("sha256", query) } };
      return get(
        `${url}/graphql?extensions=${encodeURIComponent(JSON.stringify(extensions))}&padding=${"p".repeat(PADDING.header)}&query=${query}`,
      );
    },
  },
  {
    name: "kept responses for documents",
    padding: "document",
    count: cases(200, 500),
    send: (url, index) =>
      post(`${url}/graphql`, {
        query: `{ experiment(id: "ada.mnist-with-a-long-name.${index + 1}") { status } } # ${"p".repeat(PADDING.document)}`,
      }).then((response) => response.text()),
  },
  {
    name: "polls of subscriptions whose first subscriber has left",
    padding: "document",
    count: 40,
    isEventual: true,
    send: async (url, index) => {
      const padding = `# ${"p".repeat(PADDING.document)}`;
      const leave = await subscribe(url, `${runUpdated(index, "First")} ${padding}`);
      onTestFinished(await subscribe(url, runUpdated(index, "Second")));
      leave();
    },
  },
  {
    name: "idle streams after a long event",
    padding: "document",
    count: 40,
    send: async (url) => {
      const leaving = new AbortController();
      onTestFinished(() => leaving.abort());
      const query = `subscription { runUpdated(id: "${LONG_RUN.unique_name}") { run { description } } }`;
      const { body } = await post(
        `${url}/graphql`,
        { query },
        { accept: "text/event-stream" },
        leaving.signal,
      );
      const reader = body?.getReader();
      for (let bytes = 0; bytes < PADDING.document;)
        bytes += (await reader?.read())?.value?.length ?? Infinity;
    },
  },
];

test.each(KINDS)(
  "retains $name without the surrounding string",
  async ({ padding, count, isEventual, send }) => {
    const upstream = await startFake(({ path }) =>
      path.includes("/experiments/9") ? { json: LONG_RUN } : { json: run },
    );
    const {
      url,
      post: postTo,
      condition,
      stop,
    } = await startWatched(BUILT, upstream.url, {
      TRUSTED_PROXIES: "1",
      UPSTREAM_RATE_LIMIT: "off",
      CACHE_TTL_MS: "60000",
    });
    onTestFinished(stop);
    // The service accepts the token, so its caller counts as verified.
    await postTo({ query: '{ experiment(id: "ada.mnist.1") { status } }' }, "t0ken").then((each) =>
      each.text(),
    );
    await send(url, count);
    const { heapBytes: before } = await condition();
    for (let from = 0; from < count; from += 8)
      await Promise.all(
        Array.from({ length: Math.min(8, count - from) }, (_, index) => send(url, from + index)),
      );
    const retained = async () => ((await condition()).heapBytes - before) / (count * PADDING[padding]);
    const options = isEventual ? LONG_TIMEOUT : { timeout: 1 };
    await expect.poll(retained, options).toBeLessThan(0.5);
  },
);
