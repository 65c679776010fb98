import { Readable } from "node:stream";
import { readWindow } from "../../src/rest/session/log-window.ts";
import type { HeapQuestion, HeapAnswer } from "./watched-window.ts";

/*
 * Reads windows of logs in a process of its own, whose heap is small: there a collection takes a millisecond. Started
 * with --expose-gc.
 */

const MEGABYTE = 1_048_576;

/** Logs of lines `lin`, in pieces. */
const PIECES: Readonly<Record<HeapQuestion["pieces"], (count: number) => Generator<Buffer>>> = {
  // As a socket gives them.
  *ofSocket(count) {
    for (let piece = 0; piece < count; piece++) yield Buffer.alloc(65_536, "lin\n");
  },
  // Each is a byte in a buffer of 8 kB.
  *crumbs(count) {
    for (let crumb = 0; crumb < count; crumb++) {
      yield Buffer.alloc(8_192, "lin\n").subarray(crumb % 4, (crumb % 4) + 1);
    }
  },
};

const buffers = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().arrayBuffers;
};

async function answer({ pieces, count, wanted }: HeapQuestion): Promise<HeapAnswer> {
  const before = buffers();
  let most = 0;
  function* watched() {
    let given = 0;
    for (const piece of PIECES[pieces](count)) {
      if (++given % Math.ceil(count / 20) === 0) most = Math.max(most, buffers() - before);
      yield piece;
    }
  }
  const window = await readWindow(
    { stream: Readable.from(watched()), contentType: null, bodyHeaders: {} },
    wanted,
  );
  return { window, megabytes: most / MEGABYTE };
}

// Only its parent sends messages.
process.on("message", async (question: HeapQuestion) => process.send?.(await answer(question)));
