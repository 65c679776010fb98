import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readWindow, type WindowRequest } from "../../src/rest/session/log-window.ts";
import { cases } from "../support/cases.ts";
import { failure, outcomeOf } from "../support/errors.ts";
import { type Gateway, startGateway } from "../support/gateway.ts";
import { opaque } from "../support/ids.ts";
import { responseOf, LOG_CALL, READ_LOG, readWindowOf, startEndless, startLog } from "../support/logs.ts";
import WINDOWS from "./windows.json" with { type: "json" };

describe("a log window", () => {
  test("is the whole log when it fits", async () => {
    const log = await startLog("one\ntwo\r\nthree\n");
    expect(await readWindowOf(log)).toEqual({
      text: "one\ntwo\r\nthree\n",
      lines: ["one", "two", "three"],
      startByte: 0,
      endCursor: expect.any(String),
      hasMore: false,
      isRestarted: false,
    });
    expect(log.calls()).toEqual([LOG_CALL]);
  });

  test.each([
    ...WINDOWS,
    {
      case: "shows replacement characters for bytes that are not UTF-8",
      written: Buffer.from([0x61, 0xff, 0x62, 0x80, 0x63, 0xc3, 0x28, 0x0a]),
      maxBytes: 99,
      reported: { text: "a\uFFFDb\uFFFDc\uFFFD(\n", hasMore: false },
    },
  ])("$case", async ({ written, maxBytes, reported }) => {
    expect(await readWindowOf(await startLog(written), { maxBytes })).toMatchObject(reported);
  });

  test.each([
    ["is as long as before is empty", "ONE\nTWO\n", { text: "", startByte: 8, isRestarted: false }],
    ["grew is the added part", "one\ntwo\nthree\n", { text: "three\n", startByte: 8, isRestarted: false }],
    ["was restarted is its beginning", "€ne\n", { text: "€ne\n", startByte: 0, isRestarted: true }],
    ["was emptied is its beginning", "", { text: "", startByte: 0, isRestarted: true }],
  ])("after the end of a log that %s", async (_, now, expected) => {
    for (const hasLength of [true, false]) {
      const log = await startLog("one\ntwo\n", hasLength);
      const { endCursor } = await readWindowOf(log);
      log.write(now);
      expect(await readWindowOf(log, { after: endCursor })).toEqual({
        ...expected,
        lines: expect.any(Array),
        endCursor: opaque(`byte:${Buffer.byteLength(now)}`),
        hasMore: false,
      });
    }
  });

  test.each([true, false])("of a restarted log can be continued (known length: %s)", async (hasLength) => {
    const log = await startLog("x".repeat(1_000), hasLength);
    const { endCursor } = await readWindowOf(log);
    log.write("one\ntwo\nthree\n");
    const first = await readWindowOf(log, { after: endCursor, maxBytes: 4 });
    expect(first).toMatchObject({ text: "one\n", hasMore: true, isRestarted: true });
    const second = await readWindowOf(log, { after: first.endCursor, maxBytes: 99 });
    expect(second).toMatchObject({
      text: "two\nthree\n",
      startByte: 4,
      hasMore: false,
      isRestarted: false,
    });
    expect(log.calls()).toHaveLength(3);
  });

  test("has one line for each line end", async () => {
    const log = await startLog("\n".repeat(50_000));
    expect((await readWindowOf(log, { maxBytes: 40_000 })).lines).toEqual(Array(40_000).fill(""));
  });

  test("excludes an incomplete character until its rest arrives", async () => {
    const log = await startLog(Buffer.from("ab€").subarray(0, 4));
    const first = await readWindowOf(log);
    expect(first).toMatchObject({ text: "ab", hasMore: false });
    log.write("ab€cd");
    expect(await readWindowOf(log, { after: first.endCursor })).toMatchObject({ text: "€cd", startByte: 2 });
  });
});

/** Reads window after window to the end of the log, at most `most` of them. */
async function walk(gateway: Gateway, maxBytes: number, most: number) {
  const windows: Awaited<ReturnType<typeof readWindowOf>>[] = [];
  let after: string | undefined;
  do {
    const window = await readWindowOf(gateway, { maxBytes, ...(after === undefined ? {} : { after }) });
    windows.push(window);
    after = window.endCursor;
  } while (windows.at(-1)?.hasMore && windows.length < most);
  return windows;
}

describe("reading window after window", () => {
  test("reaches the end of any log, with any window size", async () => {
    const log = await startLog();
    // Leading and continuation bytes of characters, in orders that are not valid UTF-8.
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

describe("the tail of a log", () => {
  test("contains the last lines, and its cursor continues with added bytes", async () => {
    const log = await startLog(Buffer.from("one\ntwo\nthree\n€").subarray(0, -1));
    const tail = await readWindowOf(log, { tailLines: 2 });
    expect(tail).toMatchObject({
      text: "two\nthree\n",
      lines: ["two", "three"],
      startByte: 4,
      hasMore: false,
    });
    log.write("one\ntwo\nthree\n€four\n");
    expect(await readWindowOf(log, { after: tail.endCursor })).toMatchObject({
      text: "€four\n",
      startByte: 14,
    });
    expect(log.calls()).toEqual([LOG_CALL, LOG_CALL]);
  });

  test("shows replacement characters for invalid UTF-8", async () => {
    const log = await startLog(Buffer.from([0x61, 0x0a, 0x80, 0x80, 0x62, 0x0a]));
    expect(await readWindowOf(log, { tailLines: 1 })).toMatchObject({
      text: "\uFFFD\uFFFDb\n",
      startByte: 2,
    });
  });
});

test.each([true, false])(
  "cuts the beginning of a long last line, with known length: %j",
  async (hasLength) => {
    const log = await startLog(`first\n${"x".repeat(1_000)}0123456789`, hasLength);
    expect(await readWindowOf(log, { tailLines: 1, maxBytes: 10 })).toMatchObject({
      text: "0123456789",
      startByte: 1_006,
      hasMore: false,
    });
  },
);

test("refuses `after` with `tailLines` before anything is sent", async () => {
  const log = await startLog("one\n");
  expect(outcomeOf(await log.ask(READ_LOG, { after: opaque("byte:0"), tailLines: 1 }))).toEqual({
    data: { experiment: { logs: null } },
    errors: [failure("experiment.logs", "BAD_USER_INPUT", "after: expected none with tailLines, got both")],
  });
  expect(log.calls()).toEqual([]);
});

test("cancels an endless log after the end of the window", async () => {
  const service = await startEndless();
  const gateway = await startGateway({ upstream: service });
  expect(await readWindowOf(gateway, { maxBytes: 14 })).toMatchObject({
    lines: ["line 1", "line 2"],
    hasMore: true,
  });
  await service.gone;
});

test("cancels a log that exceeds its caller's memory budget", async () => {
  const service = await startEndless();
  const { ask } = await startGateway({ upstream: service, env: { MAX_UPSTREAM_BYTES: "100000" } });
  const { errors } = await ask(READ_LOG, { maxBytes: 1_000_000 });
  expect(errors?.map(({ extensions }) => extensions["code"])).toEqual(["REQUEST_LIMIT_EXCEEDED"]);
  await service.gone;
});

test("fields that select the same log window share one request", async () => {
  const log = await startLog("one\n");
  await log.ask(`{
    a: experiment(id: "ada.mnist.42") { logs { text } }
    b: experiment(id: "ada.mnist.42") { logs { lines } }
  }`);
  expect(log.calls()).toEqual([LOG_CALL]);
});

const MEGABYTE = 1_048_576;

/** In megabytes: far more than a window, and far less than the log, because the garbage collector may free some buffers late. */
const ENOUGH = 32;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const bufferedBytes = (): number => {
  collect();
  return process.memoryUsage().arrayBuffers;
};

/** Reads a window of a log in chunks. Returns the maximum size of buffers in memory meanwhile, in megabytes. */
async function watch(count: number, chunkAt: (index: number) => Buffer, wanted: WindowRequest) {
  const before = bufferedBytes();
  let most = 0;
  function* chunks() {
    for (let index = 0; index < count; index++) {
      if ((index + 1) % Math.ceil(count / 4) === 0) most = Math.max(most, bufferedBytes() - before);
      yield chunkAt(index);
    }
  }
  const window = await readWindow(responseOf(chunks()), wanted, null);
  return { window, megabytes: most / MEGABYTE };
}

/** Two kinds of chunks: a chunk as a socket delivers it, and one byte in a buffer of 8 kB. */
const ofSocket = () => Buffer.alloc(65_536, "lin\n");
const crumb = (index: number) => Buffer.alloc(8_192, "lin\n").subarray(index % 4, (index % 4) + 1);

// These tests call the code directly, without HTTP, because memory can be measured only between two chunks.
describe("a window retains little more memory than its bytes", () => {
  test.each([
    [
      "after a long skipped part of the log",
      { fromByte: 63 * MEGABYTE, maxBytes: 8 },
      { text: "lin\nlin\n", startByte: 63 * MEGABYTE, hasMore: true },
    ],
    [
      "after the end of the log",
      { fromByte: 1e12, maxBytes: 8 },
      { text: "lin\nlin\n", startByte: 0, endByte: 8, hasMore: true, isRestarted: true },
    ],
    [
      "at the end of a long log",
      { tailLines: 2, maxBytes: 65_536 },
      { text: "lin\nlin\n", endByte: 64 * MEGABYTE },
    ],
  ])("%s", async (_, wanted, reported) => {
    const { window, megabytes } = await watch(64 * 16, ofSocket, wanted);
    expect(window).toMatchObject(reported);
    expect(megabytes).toBeLessThan(ENOUGH);
  });

  test.each([
    ["from its start", { fromByte: 0, maxBytes: 8_000 }],
    ["from its end", { tailLines: 5_000, maxBytes: 8_000 }],
  ])("if the log arrives as small views of large buffers, %s", async (_, wanted) => {
    const { window, megabytes } = await watch(8_000, crumb, wanted);
    expect(window.text).toBe("lin\n".repeat(2_000));
    expect(megabytes).toBeLessThan(ENOUGH);
  });
});
