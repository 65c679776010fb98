import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { Seen, FakeResponse } from "../support/fake.ts";
import { readRecording } from "../support/replay.ts";
import { errorsIn, startDownloads } from "./download-client.ts";

const FILE = Buffer.from("0123456789");

/** A server that supports ranges, as nginx does. */
function ranged({ headers }: Seen): FakeResponse {
  const described = { etag: '"v1"', "accept-ranges": "bytes" };
  const isSame = headers["if-range"] === undefined || headers["if-range"] === '"v1"';
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(`${headers["range"]}`) ?? [];
  if (!from || !isSame) return { text: FILE, headers: described };
  if (Number(from) >= FILE.length)
    return { text: "", status: 416, headers: { "content-range": `bytes */${FILE.length}` } };
  const end = to ? Number(to) : FILE.length - 1;
  return {
    text: FILE.subarray(Number(from), end + 1),
    status: 206,
    headers: {
      ...described,
      "content-length": `${end + 1 - Number(from)}`,
      "content-range": `bytes ${from}-${end}/${FILE.length}`,
    },
  };
}

describe("a download", () => {
  const DESCRIBED = { "accept-ranges": "bytes", etag: '"v1"' };
  const WHOLE = { text: FILE, headers: { ...DESCRIBED, "content-length": `${FILE.length}` } };
  const ZIPPED = { text: gzipSync(FILE), headers: { ...DESCRIBED, "content-encoding": "gzip" } };

  test.each([
    ["reports its length, and that it supports ranges", WHOLE, ["10", undefined, "bytes", '"v1"']],
    [
      "that was decompressed reports neither its length nor ranges",
      ZIPPED,
      [undefined, undefined, undefined, undefined],
    ],
  ])("%s", async (_, reported, details) => {
    const { take } = await startDownloads(() => reported);
    const { status, headers, body } = await take();
    expect([status, body]).toEqual([200, "0123456789"]);
    const names = ["content-length", "content-range", "accept-ranges", "etag"];
    expect(names.map((name) => headers[name])).toEqual(details);
  });

  test.each([
    ['"v1"', 206, "2345", "bytes 2-5/10"],
    // The version does not match, because the file has changed.
    ['"v0"', 200, "0123456789", undefined],
  ])("returns the requested range if the file is still %s", async (etag, ...expected) => {
    const { take, service } = await startDownloads(ranged);
    const { status, headers, body } = await take({ range: "bytes=2-5", "if-range": etag });
    expect([status, body, headers["content-range"]]).toEqual(expected);
    expect(service.seen()[0]?.headers).toMatchObject({
      range: "bytes=2-5",
      "if-range": etag,
      "accept-encoding": "identity",
    });
  });

  test("returns 416 with the file's length for an unsatisfiable range", async () => {
    const { take } = await startDownloads(ranged);
    const { status, headers, body } = await take({ range: "bytes=10-" });
    expect(status).toBe(416);
    expect(headers["content-range"]).toBe("bytes */10");
    expect(errorsIn(body)).toMatchObject([{ extensions: { code: "BAD_USER_INPUT" } }]);
  });

  test.each([
    ["several ranges", { range: "bytes=0-1,4-5" }],
    ["another unit", { range: "lines=1-2" }],
  ])("is returned whole for unsupported ranges: %s", async (_, headers) => {
    const { take, service } = await startDownloads(ranged);
    expect(await take(headers)).toMatchObject({ status: 200, body: "0123456789" });
    expect(service.seen()[0]?.headers).not.toHaveProperty("range");
  });

  const PART = { text: "2345", status: 206 };
  const PLACE = { "content-range": "bytes 2-5/10" };

  test.each<[string, FakeResponse, Record<string, string>]>([
    ["a range that was not requested", { ...PART, headers: PLACE }, {}],
    [
      "a range that is compressed",
      { ...PART, text: gzipSync("2345"), headers: { ...PLACE, "content-encoding": "gzip" } },
      { range: "bytes=2-5" },
    ],
    ["a range without its position", PART, { range: "bytes=2-5" }],
  ])("does not forward %s", async (_, reported, headers) => {
    const { take } = await startDownloads(() => reported);
    const { status, body } = await take(headers);
    expect(status).toBe(502);
    expect(errorsIn(body)).toMatchObject([{ extensions: { code: "UPSTREAM_BAD_RESPONSE" } }]);
  });

  // The application leaves the file to nginx, or to Apache and lighttpd.
  test.each(["x-accel-redirect", "x-sendfile"])("fails if no web server has handled %s", async (header) => {
    const [accel = ""] = readRecording("0.2.0-reads").flatMap(
      ({ responseHeaders }) => responseHeaders["x-accel-redirect"] ?? [],
    );
    expect(accel).not.toBe("");
    const headers = { "content-length": "0", [header]: accel };
    const { take } = await startDownloads(() => ({ text: "", headers }));
    const { status, body } = await take();
    expect(status).toBe(502);
    const message = expect.stringContaining("UPSTREAM_URL must name that web server");
    expect(errorsIn(body)).toMatchObject([{ message, extensions: { code: "UPSTREAM_BAD_RESPONSE" } }]);
    expect(body).not.toContain(accel);
  });
});
