import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import fc from "fast-check";
import type { LogResponse } from "../../src/rest/session/log-window.ts";
import { startFake } from "./fake.ts";
import { latch } from "./latch.ts";
import { type Answer, type Gateway, startGateway } from "./gateway.ts";
import { listen } from "./listen.ts";

export interface LogWindow {
  readonly text: string;
  readonly lines: readonly string[];
  readonly endCursor: string;
  readonly hasMore: boolean;
  readonly startByte: number;
  readonly isRestarted: boolean;
}

export type LogAnswer = Answer<{ experiment: { logs: LogWindow | null } | null }>;

export const READ_LOG = `query ($after: String, $maxBytes: Int, $tailLines: Int) {
  experiment(id: "ada.mnist.42") {
    logs(after: $after, maxBytes: $maxBytes, tailLines: $tailLines) {
      text lines endCursor hasMore startByte isRestarted
    }
  }
}`;

export const LOG_CALL = "GET ada/mnist/experiments/42/logs/";
export const LOG_ROUTE = "{owner}/{project}/experiments/{id}/logs/";

export interface WantedWindow {
  readonly after?: string;
  readonly maxBytes?: number;
  readonly tailLines?: number;
}

/** Reads a window of a log. Throws if the log does not exist. */
export async function readWindowOf({ ask }: Gateway, wanted: WantedWindow = {}): Promise<LogWindow> {
  const { data, errors } = (await ask(READ_LOG, wanted)) as LogAnswer;
  if (!data.experiment?.logs) throw new Error(`no log: ${JSON.stringify(errors)}`);
  return data.experiment.logs;
}

/** The response of a service that sends a log in these chunks. */
export const responseOf = (chunks: Iterable<Buffer>): LogResponse => ({
  stream: Readable.from(chunks),
  bodyHeaders: {},
});

/** A response without a length. */
export const chunked = (body: string | Buffer) => (response: ServerResponse) => {
  response.writeHead(200, { "content-type": "text/plain" }).write(body);
  response.end();
};

/** Starts a gateway in front of a service with one log, which is sent as known servers send it. `write` replaces the log. */
export async function startLog(text: string | Buffer = "", hasLength = true) {
  let log = text;
  const service = await startFake(({ path }) => {
    if (!path.endsWith("/logs/")) return { json: { id: 42 } };
    return hasLength ? { text: log, headers: { "content-type": "text/html; charset=utf-8" } } : chunked(log);
  });
  const gateway = await startGateway({ upstream: service });
  return { ...gateway, calls: service.calls, write: (next: string | Buffer) => void (log = next) };
}

/** Starts a service whose logs and downloads have no end. `gone` resolves when a client disconnects. */
export async function startEndless() {
  const gone = latch();
  const url = await listen((_, response) => {
    response.on("close", gone.open);
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    const endless = Readable.from(
      (function* lines() {
        for (let line = 1; ; line++) yield `line ${line}\n`;
      })(),
    );
    // The stream is destroyed when the client disconnects.
    pipeline(endless, response).catch(() => {});
  });
  return { url, gone: gone.opened };
}

const character = fc.constantFrom("a", "b", "\n", "\r", "é", "ß", "€", "語", "😀", "𝔘", "\0", "\uFEFF");

export const logText = fc.array(character, { maxLength: 40 }).map((characters) => characters.join(""));

/** The last lines of a string, computed in the simplest way. */
export const lastLines = (text: string, lines: number) =>
  (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).slice(-lines).join("");
