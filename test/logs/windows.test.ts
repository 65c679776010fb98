import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readWindow } from "../../src/rest/session/log-window.ts";
import { cases } from "../support/cases.ts";
import { startFake, startRecords } from "../support/fake.ts";
import { gate } from "../support/gate.ts";
import { type Answer, type Gateway, startGateway } from "../support/gateway.ts";
import { globalId, opaque } from "../support/ids.ts";
import { listen } from "../support/listen.ts";
import { withDeadline } from "../support/patience.ts";

interface Window {
  readonly text: string;
  readonly lines: readonly string[];
  readonly endCursor: string;
  readonly hasMore: boolean;
  readonly startByte: number;
  readonly contentType: string | null;
}
type Logs = Answer<{ experiment: { logs: Window | null } | null }>;

const READ = `query ($after: String, $maxBytes: Int, $tailLines: Int) {
  experiment(id: "ada.mnist.42") {
    logs(after: $after, maxBytes: $maxBytes, tailLines: $tailLines) {
      text lines endCursor hasMore startByte contentType
    }
  }
}`;
const CALL = "GET ada/mnist/experiments/42/logs/";
const ROUTE = "{owner}/{project}/experiments/{id}/logs/";

interface Wanted {
  readonly after?: string;
  readonly maxBytes?: number;
  readonly tailLines?: number;
}

/** The window of a log that must be there. */
async function read({ ask }: Gateway, wanted: Wanted = {}): Promise<Window> {
  const { data, errors } = (await ask(READ, wanted)) as Logs;
  if (!data.experiment?.logs) throw new Error(`no log: ${JSON.stringify(errors)}`);
  return data.experiment.logs;
}

/** A gateway before a service that has one log, sent as known servers send it. `write` replaces it. */
async function startLog(text: string | Buffer = "") {
  let log = text;
  const service = await startFake(({ path }) =>
    path.endsWith("/logs/")
      ? { text: log, headers: { "content-type": "text/html; charset=utf-8" } }
      : { json: { id: 42 } },
  );
  const gateway = await startGateway({ upstream: service });
  return {
    ...gateway,
    calls: service.calls,
    write: (next: string | Buffer) => {
      log = next;
    },
  };
}

/** A service whose logs and downloads have no end; `gone` opens when it is told to stop. */
async function startEndless() {
  const gone = gate();
  const url = await listen((_, response) => {
    response.on("close", gone.open);
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    const endless = Readable.from(
      (function* lines() {
        for (let line = 1; ; line++) yield `line ${line}\n`;
      })(),
    );
    // It is torn down by the one who reads.
    pipeline(endless, response).catch(() => {});
  });
  return { url, gone: gone.opened };
}

const bytesOf = (text: string) => Buffer.byteLength(text);

describe("a window from the start of a log", () => {
  test("is the whole log when it fits", async () => {
    const log = await startLog("one\ntwo\r\nthree\n");
    expect(await read(log)).toEqual({
      text: "one\ntwo\r\nthree\n",
      lines: ["one", "two", "three"],
      startByte: 0,
      endCursor: expect.any(String),
      hasMore: false,
      contentType: "text/html; charset=utf-8",
    });
    expect(log.calls()).toEqual([CALL]);
  });

  test("is cut at maxBytes and read on behind its cursor", async () => {
    const log = await startLog("one\ntwo\nthree\n");
    const first = await read(log, { maxBytes: 8 });
    expect(first).toMatchObject({ text: "one\ntwo\n", lines: ["one", "two"], startByte: 0, hasMore: true });
    const rest = await read(log, { after: first.endCursor });
    expect(rest).toMatchObject({ text: "three\n", lines: ["three"], startByte: 8, hasMore: false });
    expect(log.calls()).toEqual([CALL, CALL]);
  });

  test("ends before a character that does not fit", async () => {
    const log = await startLog("ab€cd");
    expect(await read(log, { maxBytes: 4 })).toMatchObject({ text: "ab", hasMore: true });
  });

  test("says that there is no more when it reaches the end exactly", async () => {
    const log = await startLog("one\ntwo\n");
    expect(await read(log, { maxBytes: 8 })).toMatchObject({ text: "one\ntwo\n", hasMore: false });
  });

  test.each([
    ["é", "éab"],
    ["€", "€ab"],
    ["😀", "😀ab"],
    ["é", "éé"],
  ])("that is narrower than its first character is that one character: %s of %s", async (first, text) => {
    const log = await startLog(text);
    expect(await read(log, { maxBytes: 1 })).toMatchObject({ text: first, hasMore: true });
  });

  test("that holds the only character of a log says that there is no more", async () => {
    const log = await startLog("😀");
    expect(await read(log, { maxBytes: 1 })).toMatchObject({ text: "😀", hasMore: false });
  });

  test("of an empty log is empty", async () => {
    const log = await startLog("");
    expect(await read(log)).toMatchObject({ text: "", lines: [], startByte: 0, hasMore: false });
  });

  test("without a line end at its end has its last line all the same", async () => {
    const log = await startLog("one\ntwo");
    expect(await read(log)).toMatchObject({ text: "one\ntwo", lines: ["one", "two"], hasMore: false });
  });

  test("keeps empty lines", async () => {
    const log = await startLog("\n\none\n\n");
    expect((await read(log)).lines).toEqual(["", "", "one", ""]);
  });

  test("shows signs of replacement for bytes that are no UTF-8", async () => {
    const log = await startLog(Buffer.from([0x61, 0xff, 0x62, 0x80, 0x63, 0xc3, 0x28, 0x0a]));
    expect(await read(log)).toMatchObject({ text: "a\uFFFDb\uFFFDc\uFFFD(\n", hasMore: false });
  });

  test("is read from a log that arrives compressed", async () => {
    const service = await startFake(() => ({
      text: gzipSync("one\ntwo\n"),
      headers: { "content-encoding": "gzip", "content-type": "text/plain" },
    }));
    const gateway = await startGateway({ upstream: service });
    expect(await read(gateway, { maxBytes: 4 })).toMatchObject({
      text: "one\n",
      hasMore: true,
      contentType: "text/plain",
    });
  });

  test("behind the end of a log that became shorter is empty", async () => {
    const log = await startLog("one\ntwo\n");
    const { endCursor } = await read(log);
    log.write("one\n");
    expect(await read(log, { after: endCursor })).toMatchObject({ text: "", lines: [], hasMore: false });
  });

  test("behind the end of a log that grew is what was added", async () => {
    const log = await startLog("one\n");
    const { endCursor } = await read(log);
    log.write("one\ntwo\n");
    expect(await read(log, { after: endCursor })).toMatchObject({ text: "two\n", startByte: 4 });
  });

  test("waits for the rest of a character that has not wholly arrived", async () => {
    const log = await startLog(Buffer.from("ab€").subarray(0, 4));
    const first = await read(log);
    expect(first).toMatchObject({ text: "ab", hasMore: false });
    log.write("ab€cd");
    expect(await read(log, { after: first.endCursor })).toMatchObject({ text: "€cd", startByte: 2 });
  });
});

/** Reads window after window until there is no more, at most so many. */
async function walk(gateway: Gateway, maxBytes: number, most: number): Promise<Window[]> {
  const windows: Window[] = [];
  let after: string | undefined;
  do {
    const window = await read(gateway, { maxBytes, ...(after === undefined ? {} : { after }) });
    windows.push(window);
    after = window.endCursor;
  } while (windows.at(-1)?.hasMore && windows.length < most);
  return windows;
}

const character = fc.constantFrom("a", "b", "\n", "\r", "é", "ß", "€", "語", "😀", "𝔘", "\0", "\uFEFF");
const logText = fc.array(character, { maxLength: 40 }).map((characters) => characters.join(""));

describe("window after window", () => {
  test("a log is read whole and nothing twice, in windows of any size", async () => {
    const log = await startLog();
    await fc.assert(
      fc.asyncProperty(logText, fc.integer({ min: 1, max: 12 }), async (text, maxBytes) => {
        log.write(text);
        const windows = await walk(log, maxBytes, text.length + 1);
        expect(windows.map((window) => window.text).join("")).toBe(text);
        let place = 0;
        for (const window of windows) {
          expect(window.startByte).toBe(place);
          place += bytesOf(window.text);
          expect(window.hasMore).toBe(place < bytesOf(text));
          const [first = ""] = window.text;
          expect(bytesOf(window.text)).toBeLessThanOrEqual(Math.max(maxBytes, bytesOf(first)));
        }
      }),
      { numRuns: cases(15, 60) },
    );
  });

  test.each([1, 2, 3])(
    "a log that ends in the middle of a character comes to an end, in windows of %i bytes",
    async (maxBytes) => {
      const log = await startLog(Buffer.from("ab😀").subarray(0, 5));
      const windows = await walk(log, maxBytes, 6);
      expect(windows.map(({ text }) => text).join("")).toMatch(/^ab\uFFFD*$/);
      expect(windows.at(-1)?.hasMore).toBe(false);
    },
  );

  test("a log of any bytes comes to its end, in windows of any size", async () => {
    const log = await startLog();
    // Beginnings and middles of characters, in orders that no text has.
    const byte = fc.constantFrom(0x61, 0x0a, 0x80, 0xbf, 0xc3, 0xe2, 0xf0, 0xf7, 0xff);
    await fc.assert(
      fc.asyncProperty(
        fc.array(byte, { maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
        fc.integer({ min: 1, max: 6 }),
        async (bytes, maxBytes) => {
          log.write(bytes);
          const windows = await walk(log, maxBytes, bytes.length + 1);
          expect(windows.at(-1)?.hasMore).toBe(false);
          const places = windows.map(({ startByte }) => startByte);
          expect(places).toEqual([...new Set(places)].toSorted((a, b) => a - b));
        },
      ),
      { numRuns: cases(40, 150) },
    );
  });
});

/** The last lines of a text, as anybody would count them. */
const lastLines = (text: string, lines: number) =>
  (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).slice(-lines).join("");

describe("the tail of a log", () => {
  test("is its last lines, and reading on behind it gives what is added", async () => {
    const log = await startLog("one\ntwo\nthree\n");
    const tail = await read(log, { tailLines: 2 });
    expect(tail).toMatchObject({
      text: "two\nthree\n",
      lines: ["two", "three"],
      startByte: 4,
      hasMore: false,
    });
    log.write("one\ntwo\nthree\nfour\n");
    expect(await read(log, { after: tail.endCursor })).toMatchObject({ text: "four\n", startByte: 14 });
    expect(log.calls()).toEqual([CALL, CALL]);
  });

  test.each([
    ["a last line without an end", "one\ntwo", 1, "two"],
    ["more lines than there are", "one\ntwo\n", 9, "one\ntwo\n"],
    ["an empty log", "", 3, ""],
    ["a log of one line end", "\n", 1, "\n"],
    ["a log that begins with an empty line", "\none\n", 9, "\none\n"],
    ["empty lines at the end", "one\n\n\n", 2, "\n\n"],
  ])("counts lines as a reader does: %s", async (_, text, tailLines, tail) => {
    const log = await startLog(text);
    expect(await read(log, { tailLines })).toMatchObject({
      text: tail,
      startByte: text.length - tail.length,
      hasMore: false,
    });
  });

  test("is the last lines of any log", async () => {
    const log = await startLog();
    await fc.assert(
      fc.asyncProperty(logText, fc.integer({ min: 1, max: 8 }), async (text, tailLines) => {
        log.write(text);
        const tail = await read(log, { tailLines });
        expect(tail.text).toBe(lastLines(text, tailLines));
        expect(tail.startByte).toBe(bytesOf(text) - bytesOf(tail.text));
      }),
      { numRuns: cases(40, 150) },
    );
  });

  test("is no longer than maxBytes and begins with a whole character", async () => {
    const log = await startLog("one\ntwo€three\n");
    expect(await read(log, { tailLines: 1, maxBytes: 8 })).toMatchObject({
      text: "three\n",
      startByte: 10,
    });
  });

  test("shows signs of replacement for bytes that are no UTF-8", async () => {
    const log = await startLog(Buffer.from([0x61, 0x0a, 0x80, 0x80, 0x62, 0x0a]));
    expect(await read(log, { tailLines: 1 })).toMatchObject({ text: "\uFFFD\uFFFDb\n", startByte: 2 });
  });

  test("of a log much longer than the window is found", async () => {
    const numbers = Array.from({ length: 100_000 }, (_, index) => `line ${index}\n`);
    const log = await startLog(numbers.join(""));
    const tail = await read(log, { tailLines: 3 });
    expect(tail.lines).toEqual(["line 99997", "line 99998", "line 99999"]);
    expect(tail.startByte).toBe(numbers.join("").length - tail.text.length);
  });
});

/** A log in pieces, as a network may cut it. */
const pieces = fc
  .tuple(logText, fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 }))
  .map(([text, sizes]) => {
    const bytes = Buffer.from(text);
    const parts: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += sizes[(parts.length - 1) % sizes.length] ?? 1) {
      parts.push(bytes.subarray(at, at + (sizes[parts.length % sizes.length] ?? 1)));
    }
    return { bytes, parts };
  });

/** The first place from here on where a character begins. */
const characterFrom = (bytes: Buffer, from: number): number =>
  ((bytes[from] ?? 0) & 0xc0) === 0x80 ? characterFrom(bytes, from + 1) : from;

// Not through the door: over a network nobody can say where a log is cut.
describe("however the network cuts a log", () => {
  test("its tail is the same", async () => {
    await fc.assert(
      fc.asyncProperty(
        pieces,
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 4, max: 40 }),
        async ({ bytes, parts }, tailLines, maxBytes) => {
          const lines = Buffer.byteLength(lastLines(bytes.toString(), tailLines));
          const start = characterFrom(bytes, bytes.length - Math.min(lines, maxBytes));
          expect(await readWindow(Readable.from(parts), null, { tailLines, maxBytes })).toEqual({
            text: bytes.toString("utf8", start),
            startByte: start,
            endByte: bytes.length,
            hasMore: false,
            contentType: null,
          });
        },
      ),
      { numRuns: cases(500, 2_000) },
    );
  });

  test("its windows are the same", async () => {
    await fc.assert(
      fc.asyncProperty(pieces, fc.integer({ min: 1, max: 12 }), async ({ bytes, parts }, maxBytes) => {
        for (let fromByte = 0; fromByte < bytes.length;) {
          const next = characterFrom(bytes, fromByte + 1);
          let end = Math.min(fromByte + maxBytes, bytes.length);
          while (characterFrom(bytes, end) !== end) end--;
          end = Math.max(end, next);
          expect(await readWindow(Readable.from(parts), null, { fromByte, maxBytes })).toEqual({
            text: bytes.toString("utf8", fromByte, end),
            startByte: fromByte,
            endByte: end,
            hasMore: end < bytes.length,
            contentType: null,
          });
          fromByte = end;
        }
      }),
      { numRuns: cases(100, 500) },
    );
  });
});

test("`after` beside `tailLines` is refused before anything is sent", async () => {
  const log = await startLog("one\n");
  const after = opaque("byte:0");
  expect(
    await log.ask(READ, { after, tailLines: 1 }, { headers: { "x-request-id": "story-1" } }),
  ).toMatchObject({
    data: { experiment: { logs: null } },
    errors: [
      {
        message: "after: expected none beside tailLines, got both",
        path: ["experiment", "logs"],
        extensions: { code: "BAD_USER_INPUT", requestId: "story-1" },
      },
    ],
  });
  expect(log.calls()).toEqual([]);
});

test("a log that is written without end is read as far as the window and then cancelled", async () => {
  const service = await startEndless();
  const gateway = await startGateway({ upstream: service });
  expect(await read(gateway, { maxBytes: 14 })).toMatchObject({ lines: ["line 1", "line 2"], hasMore: true });
  await service.gone;
});

test("two fields that want one window of one log read it once", async () => {
  const log = await startLog("one\n");
  await log.ask(`{
    a: experiment(id: "ada.mnist.42") { logs { text } }
    b: experiment(id: "ada.mnist.42") { logs { lines } }
  }`);
  expect(log.calls()).toEqual([CALL]);
});

describe("a log that cannot be had", () => {
  const MISSING = { json: "The logs are not found.", status: 404 };

  test("because none was written is null without an error", async () => {
    const service = await startFake(({ path }) => (path.endsWith("/logs/") ? MISSING : { json: { id: 42 } }));
    const { ask } = await startGateway({ upstream: service });
    expect(await ask(`{ experiment(id: "ada.mnist.42") { internalId logs { text } } }`)).toEqual({
      data: { experiment: { internalId: "42", logs: null } },
    });
    expect(service.calls()).toEqual(["GET ada/mnist/experiments/42/", CALL]);
  });

  test("because its record is missing is NOT_FOUND", async () => {
    const service = await startFake(({ path }) => (path.endsWith("/logs/") ? MISSING : undefined));
    const { ask } = await startGateway({ upstream: service });
    expect(
      await ask(
        `{ experiment(id: "ada.mnist.42") { logs { text } } }`,
        {},
        { headers: { "x-request-id": "story-1" } },
      ),
    ).toEqual({
      data: { experiment: null },
      errors: [
        {
          message: "Not found.",
          locations: [{ line: 1, column: 3 }],
          path: ["experiment"],
          extensions: {
            code: "NOT_FOUND",
            requestId: "story-1",
            upstream: { method: "GET", route: "{owner}/{project}/experiments/{id}/", status: 404 },
          },
        },
      ],
    });
  });

  test("because the server has no log of a single job is CAPABILITY_UNAVAILABLE, without a request", async () => {
    const service = await startRecords({});
    const { ask } = await startGateway({ upstream: service });
    expect(
      await ask(
        `{ experimentJob(id: "ada.mnist.42.7.master") { logs { text } } }`,
        {},
        { headers: { "x-request-id": "story-1" } },
      ),
    ).toEqual({
      data: { experimentJob: { logs: null } },
      errors: [
        {
          message:
            "The server behind this gateway does not offer this. `gateway.capabilities` tells what there is.",
          locations: [{ line: 1, column: 48 }],
          path: ["experimentJob", "logs"],
          extensions: { code: "CAPABILITY_UNAVAILABLE", requestId: "story-1" },
        },
      ],
    });
    expect(service.calls()).toEqual([]);
  });

  test.each([
    ["is forbidden", { json: { detail: "No." }, status: 403 }, "FORBIDDEN"],
    ["is not offered", { text: "<html></html>", status: 404 }, "UPSTREAM_UNSUPPORTED"],
    ["crashes", { text: "<html></html>", status: 500 }, "UPSTREAM_ERROR"],
    [
      "is said to be compressed and is not",
      { text: "canary", headers: { "content-encoding": "gzip" } },
      "UPSTREAM_BAD_RESPONSE",
    ],
  ])("because it %s keeps the service's reason", async (_, told, code) => {
    const service = await startFake(() => told);
    const { ask, logged } = await startGateway({ upstream: service });
    const { data, errors } = (await ask(READ)) as Logs;
    expect(data).toEqual({ experiment: { logs: null } });
    expect(errors?.map(({ extensions }) => [extensions["code"], extensions["upstream"]])).toEqual([
      [code, expect.objectContaining({ method: "GET", route: ROUTE })],
    ]);
    expect(logged()).not.toContain("unexpected");
  });

  test("at first, because the connection breaks, is read again", async () => {
    let asked = 0;
    const url = await listen((_, response) => {
      if (++asked > 1) return void response.end("line 1\nline 2\n");
      response.writeHead(200, { "content-length": 14 });
      response.write("line 1\n", () => response.destroy());
    });
    const gateway = await startGateway({ upstream: { url }, env: { UPSTREAM_RETRIES: "2" } });
    expect(await read(gateway)).toMatchObject({ lines: ["line 1", "line 2"], startByte: 0, hasMore: false });
    expect(asked).toBe(2);
  });

  test("because the connection breaks in the middle is UPSTREAM_UNAVAILABLE", async () => {
    const url = await listen((_, response) => {
      response.writeHead(200, { "content-length": 5_000 });
      response.write("line 1\n", () => response.destroy());
    });
    const { ask, logged } = await startGateway({ upstream: { url } });
    const { data, errors } = (await ask(READ)) as Logs;
    expect(data).toEqual({ experiment: { logs: null } });
    expect(errors?.map(({ extensions }) => [extensions["code"], extensions["upstream"]])).toEqual([
      ["UPSTREAM_UNAVAILABLE", { method: "GET", route: ROUTE }],
    ]);
    expect(logged()).not.toMatch(/unexpected|127\.0\.0\.1|"(?:remote|local)Port"/);
  });

  test("because it falls silent is UPSTREAM_TIMEOUT", async () => {
    const gone = gate();
    const url = await listen((_, response) => {
      response.on("close", gone.open);
      response.write("line 1\n");
    });
    const { ask } = await startGateway({ upstream: { url }, env: { UPSTREAM_IDLE_TIMEOUT_MS: "100" } });
    const { errors } = (await ask(READ)) as Logs;
    expect(errors?.map(({ extensions }) => [extensions["code"], extensions["upstream"]])).toEqual([
      ["UPSTREAM_TIMEOUT", { method: "GET", route: ROUTE }],
    ]);
    await gone.opened;
  });

  test("because the time of the whole request is over is UPSTREAM_TIMEOUT", async () => {
    await withDeadline(async (deadlineMs) => {
      let asked = 0;
      const gone = gate();
      const url = await listen((_, response) => {
        asked++;
        response.on("close", gone.open);
        response.write("line 1\n");
      });
      const env = { REQUEST_TIMEOUT_MS: `${deadlineMs}` };
      const { ask } = await startGateway({ upstream: { url }, env });
      const { errors } = (await ask(READ)) as Logs;
      expect(errors?.map(({ extensions }) => extensions["code"])).toEqual(["UPSTREAM_TIMEOUT"]);
      expect(asked).toBe(1);
      await gone.opened;
    });
  });

  test("because its reader left is no error: the service is told to stop, and nothing is logged", async () => {
    const arrived = gate();
    const gone = gate();
    const url = await listen((_, response) => {
      response.on("close", gone.open);
      response.write("line 1\n", arrived.open);
    });
    const gateway = await startGateway({ upstream: { url } });
    const leaving = new AbortController();
    const asked = fetch(`${gateway.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "token t0ken" },
      body: JSON.stringify({ query: READ }),
      signal: leaving.signal,
    });
    await arrived.opened;
    leaving.abort();
    await expect(asked).rejects.toThrow("aborted");
    await gone.opened;
    await gateway.ask("{ gateway { version } }");
    expect(gateway.logged()).not.toContain("unexpected");
  });
});

const URLS = `{
  experiment(id: "ada.mnist.42") { logsUrl outputsUrl }
  job(id: "ada.mnist.jobs.3") { logsUrl outputsUrl }
  buildJob(id: "ada.mnist.builds.9") { logsUrl }
}`;
const RUNS: Record<string, object> = {
  "ada/mnist/experiments/42/": { id: 42 },
  "ada/mnist/jobs/3/": { id: 3 },
  "ada/mnist/builds/9/": { id: 9 },
};
const RUN_CALLS = Object.keys(RUNS)
  .map((path) => `GET ${path}`)
  .toSorted();
type Urls = Record<"experiment" | "job" | "buildJob", { logsUrl: string; outputsUrl: string }>;

const EVERY_BYTE = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256));
const HEADERS = { authorization: "token t0ken", "x-request-id": "story-1" };

describe("a download", () => {
  test("has a URL at the gateway, which costs no request beyond the run's own", async () => {
    const service = await startRecords(RUNS);
    const { ask, url } = await startGateway({ upstream: service });
    const at = (name: string, what: string) => `${url}/downloads/${globalId(name)}/${what}`;
    expect(await ask(URLS)).toEqual({
      data: {
        experiment: {
          logsUrl: at("Experiment:ada/mnist/42", "logs"),
          outputsUrl: at("Experiment:ada/mnist/42", "outputs"),
        },
        job: {
          logsUrl: at("Job:ada/mnist/3", "logs"),
          outputsUrl: at("Job:ada/mnist/3", "outputs"),
        },
        buildJob: { logsUrl: at("BuildJob:ada/mnist/9", "logs") },
      },
    });
    expect(service.calls()).toEqual(RUN_CALLS);
  });

  test("has its URL where callers reach the gateway, when that is set", async () => {
    const { ask } = await startGateway({
      upstream: await startRecords(RUNS),
      env: { PUBLIC_URL: "https://runs.example/graph/" },
    });
    const { data } = (await ask(URLS)) as Answer<Urls>;
    expect(data.buildJob.logsUrl).toBe(
      `https://runs.example/graph/downloads/${globalId("BuildJob:ada/mnist/9")}/logs`,
    );
  });

  const downloads: ["experiment" | "job" | "buildJob", "logsUrl" | "outputsUrl", string, string | null][] = [
    ["experiment", "logsUrl", CALL, null],
    ["job", "logsUrl", "GET ada/mnist/jobs/3/logs", null],
    ["buildJob", "logsUrl", "GET ada/mnist/builds/9/logs", null],
    ["experiment", "outputsUrl", "GET ada/mnist/experiments/42/outputs", "ada.mnist.42.tar.gz"],
    ["job", "outputsUrl", "GET ada/mnist/jobs/3/outputs", "ada.mnist.jobs.3.tar.gz"],
  ];

  test.each(downloads)("of %s.%s gives every byte as it was sent", async (kind, field, call, file) => {
    const service = await startFake(({ path }) => {
      const run = RUNS[path.replace("/api/v1/", "")];
      if (run) return { json: run };
      return {
        text: EVERY_BYTE,
        headers: {
          "content-type": "text/html; charset=utf-8",
          "set-cookie": "a=b",
          "x-powered-by": "canary",
        },
      };
    });
    const { ask } = await startGateway({ upstream: service });
    const { data } = (await ask(URLS)) as Answer<Urls>;
    const response = await fetch(data[kind][field], { headers: HEADERS });
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer()).equals(EVERY_BYTE)).toBe(true);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("content-type")).toBe(
      file ? "application/gzip" : "text/plain; charset=utf-8",
    );
    expect(response.headers.get("content-disposition")).toBe(file && `attachment; filename="${file}"`);
    expect(response.headers.get("cache-control")).toBe("private, no-store");
    expect(response.headers.get("x-request-id")).toBe("story-1");
    expect(response.headers.get("set-cookie")).toBeNull();
    expect(response.headers.get("x-powered-by")).toBeNull();
    expect(service.calls().filter((each) => !RUN_CALLS.includes(each))).toEqual([call]);
    expect(service.seen().at(-1)?.headers).toEqual({
      accept: "*/*",
      authorization: "token t0ken",
      "x-request-id": "story-1",
      host: new URL(service.url).host,
      connection: "close",
    });
  });

  test("that its caller gave no request id has one id, at the service and in the answer", async () => {
    const service = await startFake(() => ({ text: "one\n" }));
    const { url } = await startGateway({ upstream: service });
    const response = await fetch(`${url}/downloads/${globalId("Job:ada/mnist/3")}/logs`, {
      headers: { authorization: "token t0ken" },
    });
    await response.text();
    expect(response.headers.get("x-request-id")).toMatch(/^[\da-f-]{36}$/);
    expect(service.seen()[0]?.headers["x-request-id"]).toBe(response.headers.get("x-request-id"));
  });

  test("of nothing is empty", async () => {
    const service = await startFake(() => ({ text: "" }));
    const { url } = await startGateway({ upstream: service });
    const response = await fetch(`${url}/downloads/${globalId("Job:ada/mnist/3")}/outputs`, {
      headers: HEADERS,
    });
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });

  test("without a token is 401, and nothing is sent", async () => {
    const service = await startRecords({});
    const { url } = await startGateway({ upstream: service });
    const response = await fetch(`${url}/downloads/${globalId("Job:ada/mnist/3")}/logs`, {
      headers: { "x-request-id": "story-1" },
    });
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({
      errors: [
        {
          message: "Expected the header `Authorization: token <token>`.",
          extensions: { code: "UNAUTHENTICATED", requestId: "story-1" },
        },
      ],
    });
    expect(service.calls()).toEqual([]);
  });

  test.each([
    ["of nothing", "%20", "logs"],
    ["of a folder above", "%2e%2e%2f%2e%2e", "logs"],
    ["of a dotted name", "ada.mnist.42", "logs"],
    ["that climbs", globalId("Experiment:../x/1"), "logs"],
    ["with too many parts", globalId("Experiment:a/b/c/1"), "outputs"],
    ["with a leading zero", globalId("Experiment:a/b/01"), "outputs"],
    ["of no kind", globalId("Nope:a/b/1"), "logs"],
    ["with NUL", globalId("Job:a\0/b/1"), "logs"],
    ["of 10,000 characters", "a".repeat(10_000), "logs"],
    ["of a project", globalId("Project:ada/mnist"), "logs"],
    ["of a person", globalId("User:ada"), "outputs"],
    ["of a machine", globalId("Node:node-1"), "logs"],
    ["of a group, which has no log", globalId("Group:ada/mnist/5"), "logs"],
    ["of a build, which has no outputs", globalId("BuildJob:ada/mnist/9"), "outputs"],
    ["of a job of an experiment, which has no outputs", globalId("ExperimentJob:ada/mnist/42/7"), "outputs"],
  ])("by an id %s is 400, and nothing is sent", async (_, id, what) => {
    const service = await startRecords({});
    const { url } = await startGateway({ upstream: service });
    const response = await fetch(`${url}/downloads/${id}/${what}`, { headers: HEADERS });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      errors: [
        {
          message: expect.stringMatching(/^id: expected .{1,150}$/),
          extensions: expect.objectContaining({ code: "BAD_USER_INPUT" }),
        },
      ],
    });
    expect(service.calls()).toEqual([]);
  });

  test("that the server does not offer is 404, and nothing is sent", async () => {
    const record = "ada/mnist/experiments/42/jobs/7/";
    const service = await startRecords({ [record]: { id: 7 } });
    const { ask, url } = await startGateway({ upstream: service });
    const { data } = (await ask(`{ experimentJob(id: "ada.mnist.42.7.master") { logsUrl } }`)) as Answer<{
      experimentJob: { logsUrl: string };
    }>;
    expect(data.experimentJob.logsUrl).toBe(
      `${url}/downloads/${globalId("ExperimentJob:ada/mnist/42/7")}/logs`,
    );
    const response = await fetch(data.experimentJob.logsUrl, { headers: HEADERS });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      errors: [
        {
          message:
            "The server behind this gateway does not offer this. `gateway.capabilities` tells what there is.",
          extensions: { code: "CAPABILITY_UNAVAILABLE", requestId: "story-1" },
        },
      ],
    });
    expect(service.calls()).toEqual([`GET ${record}`]);
  });

  test.each([
    [400, 400, "BAD_USER_INPUT"],
    [401, 401, "UNAUTHENTICATED"],
    [403, 403, "FORBIDDEN"],
    [404, 404, "NOT_FOUND"],
    [429, 429, "RATE_LIMITED"],
    [302, 502, "UPSTREAM_BAD_RESPONSE"],
    [405, 502, "UPSTREAM_UNSUPPORTED"],
    [500, 502, "UPSTREAM_ERROR"],
    [503, 503, "UPSTREAM_UNAVAILABLE"],
  ])("that the service answers with %i is %i with the code %s", async (status, told, code) => {
    const service = await startFake(() => ({ status, json: {}, headers: { location: "/canary" } }));
    const { url } = await startGateway({ upstream: service });
    const response = await fetch(`${url}/downloads/${globalId("Experiment:ada/mnist/42")}/logs`, {
      headers: HEADERS,
    });
    expect(response.status).toBe(told);
    expect(response.headers.get("location")).toBeNull();
    expect(await response.json()).toEqual({
      errors: [
        {
          message: expect.any(String),
          extensions: expect.objectContaining({ code, upstream: { method: "GET", route: ROUTE, status } }),
        },
      ],
    });
  });

  test("that never begins is 504", async () => {
    const url = await listen(() => {});
    const gateway = await startGateway({ upstream: { url }, env: { UPSTREAM_HEADERS_TIMEOUT_MS: "50" } });
    const response = await fetch(`${gateway.url}/downloads/${globalId("Experiment:ada/mnist/42")}/logs`, {
      headers: HEADERS,
    });
    expect(response.status).toBe(504);
  });

  test("that breaks off breaks off for its caller too", async () => {
    const url = await listen((_, response) => {
      response.writeHead(200, { "content-length": 5_000 });
      response.write("line 1\n", () => response.destroy());
    });
    const gateway = await startGateway({ upstream: { url } });
    const whole = fetch(`${gateway.url}/downloads/${globalId("Experiment:ada/mnist/42")}/logs`, {
      headers: HEADERS,
    }).then((response) => response.text());
    await expect(whole).rejects.toThrow("terminated");
  });

  test.each(["logs", "outputs"])("of %s that its caller leaves is cancelled at the service", async (what) => {
    const service = await startEndless();
    const gateway = await startGateway({ upstream: service });
    const leaving = new AbortController();
    const response = await fetch(`${gateway.url}/downloads/${globalId("Experiment:ada/mnist/42")}/${what}`, {
      headers: HEADERS,
      signal: leaving.signal,
    });
    const { value } = (await response.body?.getReader().read()) ?? {};
    expect(Buffer.from(value ?? []).toString()).toMatch(/^line 1\n/);
    leaving.abort();
    await service.gone;
  });

  test("that its caller leaves before it begins is given up at the service", async () => {
    const arrived = gate();
    const gone = gate();
    const url = await listen((_, response) => {
      response.on("close", gone.open);
      arrived.open();
    });
    const gateway = await startGateway({ upstream: { url } });
    const leaving = new AbortController();
    const asked = fetch(`${gateway.url}/downloads/${globalId("Experiment:ada/mnist/42")}/logs`, {
      headers: HEADERS,
      signal: leaving.signal,
    });
    await arrived.opened;
    leaving.abort();
    await expect(asked).rejects.toThrow("aborted");
    await gone.opened;
  });

  test.each(["POST", "PUT", "DELETE"])("is not made by %s", async (method) => {
    const service = await startRecords({});
    const { url } = await startGateway({ upstream: service });
    const response = await fetch(`${url}/downloads/${globalId("Job:ada/mnist/3")}/logs`, {
      method,
      headers: HEADERS,
    });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET"]);
    expect(service.calls()).toEqual([]);
  });
});
