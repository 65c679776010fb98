import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readWindow } from "../../src/rest/session/log-window.ts";
import { cases } from "../support/cases.ts";
import { responseOf, lastLines, logText } from "../support/logs.ts";

/** A log in chunks, as a network may split it. */
const chunks = fc
  .tuple(logText, fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 }))
  .map(([text, sizes]) => {
    const bytes = Buffer.from(text);
    const parts: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += sizes[(parts.length - 1) % sizes.length] ?? 1) {
      parts.push(bytes.subarray(at, at + (sizes[parts.length % sizes.length] ?? 1)));
    }
    return { bytes, parts };
  });

/** The first offset from here at which a character begins. */
const characterFrom = (bytes: Buffer, from: number): number =>
  ((bytes[from] ?? 0) & 0xc0) === 0x80 ? characterFrom(bytes, from + 1) : from;

// These tests call the code directly, without HTTP, because a test cannot control how a network splits a log.
describe("regardless of how the network splits a log,", () => {
  test("its last lines are the same", async () => {
    await fc.assert(
      fc.asyncProperty(
        chunks,
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 4, max: 40 }),
        async ({ bytes, parts }, tailLines, maxBytes) => {
          const lines = Buffer.byteLength(lastLines(bytes.toString(), tailLines));
          const start = characterFrom(bytes, bytes.length - Math.min(lines, maxBytes));
          expect(await readWindow(responseOf(parts), { tailLines, maxBytes }, null)).toEqual({
            text: bytes.toString("utf8", start),
            startByte: start,
            endByte: bytes.length,
            hasMore: false,
            isRestarted: false,
            rest: null,
          });
        },
      ),
      { numRuns: cases(500, 2_000) },
    );
  });

  test("its windows are the same", async () => {
    await fc.assert(
      fc.asyncProperty(chunks, fc.integer({ min: 1, max: 12 }), async ({ bytes, parts }, maxBytes) => {
        for (let fromByte = 0; fromByte < bytes.length;) {
          const next = characterFrom(bytes, fromByte + 1);
          let end = Math.min(fromByte + maxBytes, bytes.length);
          while (characterFrom(bytes, end) !== end) end--;
          end = Math.max(end, next);
          expect(await readWindow(responseOf(parts), { fromByte, maxBytes }, null)).toEqual({
            text: bytes.toString("utf8", fromByte, end),
            startByte: fromByte,
            endByte: end,
            hasMore: end < bytes.length,
            isRestarted: false,
            rest: null,
          });
          fromByte = end;
        }
        // A log that is shorter than a position is read from its beginning.
        const first = await readWindow(responseOf(parts), { fromByte: 0, maxBytes }, null);
        const anew = await readWindow(responseOf(parts), { fromByte: bytes.length + 1, maxBytes }, null);
        expect(anew).toEqual({ ...first, isRestarted: true });
      }),
      { numRuns: cases(100, 500) },
    );
  });
});
