import { describe, expect, test } from "vitest";
import { openRaw } from "../http/raw-socket.ts";
import { BROKEN, GROUP, PROJECT, row, startExports } from "../support/exported.ts";
import { pageOf } from "../support/fake.ts";
import { profileFile } from "../support/tracker.ts";
import REFUSED from "./refused.json" with { type: "json" };

const ROWS = [1, 2, 3, 4, 5].map((id) => row(id));

/** Starts a service whose second page fails. */
const startBroken = () =>
  startExports((seen) => (seen.path.includes("offset") ? { status: 500, json: {} } : pageOf(ROWS, seen)), {
    MAX_PAGE_SIZE: "2",
  });

describe("an export", () => {
  // Safe: each case has a title, a path and the beginning of the message.
  test.each(REFUSED as unknown as readonly (readonly [string, string, string])[])(
    "%s returns 400 and sends nothing",
    async (_, path, message) => {
      const { get, calls } = await startExports(ROWS);
      const response = await get(path);
      const extensions = { code: "BAD_USER_INPUT", requestId: "request-1" };
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { errors: [{ message: expect.stringMatching(new RegExp(message)), extensions }] },
      ]);
      expect(calls()).toEqual([]);
    },
  );

  test.each(["runs.xlsx", "metrics.parquet", "runs", "runs.parquet?columns=id"])(
    "of %s returns 404 and lists the formats",
    async (file) => {
      const { get } = await startExports(ROWS);
      const response = await get(`${PROJECT}/${file}`);
      expect([response.status, await response.text()]).toEqual([
        404,
        "not found: expected a file that ends with .csv or .ndjson\n",
      ]);
    },
  );

  test.each([
    [403, null],
    [429, "300"],
  ])("whose first page fails with %i returns this status, with Retry-After %s", async (status, pause) => {
    const { get } = await startExports(() => ({
      status,
      json: {},
      headers: pause === null ? {} : { "retry-after": "3600" },
    }));
    const response = await get(`${PROJECT}/runs.csv`);
    expect([response.status, response.headers.get("retry-after")]).toEqual([status, pause]);
  });

  test.each(["identity", "gzip"])("that ends early never looks complete: %s", async (encoding) => {
    const { get, logged } = await startBroken();
    const body = get(`${PROJECT}/runs.csv`, { headers: { "accept-encoding": encoding } }).then((response) =>
      response.text(),
    );
    await expect(body).rejects.toThrow(BROKEN);
    await expect.poll(logged).toContain('"what":"runs","code":"UPSTREAM_ERROR"');
  });

  test("that ends early resets an HTTP/1.0 connection instead of closing it", async () => {
    const { write, closed } = await openRaw((await startBroken()).url);
    await write(`GET /export/${PROJECT}/runs.csv HTTP/1.0\r\nAuthorization: token t0ken\r\n\r\n`);
    expect(await closed).toBe(true);
  });

  test("is compressed when the caller accepts gzip", async () => {
    const { get } = await startExports(ROWS, { MAX_PAGE_SIZE: "2" });
    const headers = { "accept-encoding": "gzip" };
    const response = await get(`${PROJECT}/runs.csv?columns=uniqueName`, { headers });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-encoding": "gzip",
      vary: "accept-encoding",
      "x-total-count": "5",
    });
    // Reads the body as the declared content type.
    expect(await response.text()).toBe(
      `uniqueName\r\n${ROWS.map(({ unique_name }) => `${unique_name}\r\n`).join("")}`,
    );
  });

  test("by HEAD returns the headers and reads only the first page", async () => {
    const { get, calls } = await startExports(ROWS, { MAX_PAGE_SIZE: "2" });
    const response = await get(`${GROUP}/runs.csv`, { method: "HEAD" });
    const reported = [response.status, response.headers.get("x-total-count"), await response.text()];
    expect(reported).toEqual([200, "5", ""]);
    expect(calls()).toHaveLength(1);
  });
});

test("an export stops at circular page links, and does not look complete", async () => {
  const byLinks = "extends: polyaxon-0.4\npaging: {by: link, parameters: {offset: offset}}";
  const { get, logged, calls } = await startExports(
    ({ path }) => ({
      json: { results: [row(1)], next: path.includes("offset=1") ? "?offset=2" : "?offset=1" },
    }),
    { UPSTREAM_PROFILE: profileFile(byLinks), MAX_PAGE_SIZE: "1" },
  );
  const body = get(`${GROUP}/runs.csv?columns=uniqueName`).then((response) => response.text());
  await expect(body).rejects.toThrow(BROKEN);
  expect(calls()).toHaveLength(3);
  await expect.poll(logged).toContain('"what":"runs","code":"UPSTREAM_BAD_RESPONSE"');
});

test("an export stops reading and releases its permit when the caller disconnects", async () => {
  const { get, logged, url, calls } = await startExports(
    // The response for the last page never arrives.
    (seen) => (seen.path.includes("offset=4") ? new Promise<never>(() => {}) : pageOf(ROWS, seen)),
    { MAX_PAGE_SIZE: "2" },
  );
  const leaving = new AbortController();
  const { body } = await get(`${PROJECT}/runs.csv?columns=uniqueName`, { signal: leaving.signal });
  await body?.getReader().read();
  await expect.poll(() => calls().length).toBe(3);
  leaving.abort();
  await expect.poll(logged).toContain('"what":"runs","code":"REQUEST_CANCELLED"');
  await expect
    .poll(async () => (await fetch(`${url}/metrics`)).text())
    .toMatch(/\nrungraph_upstream_requests_running 0\n[^]*\nrungraph_downloads_running 0\n/);
});

test("an export ends after the list's count if the service ignores offsets", async () => {
  const { get, calls } = await startExports(() => ({ json: { count: 5, results: ROWS } }), {
    MAX_PAGE_SIZE: "2",
  });
  const response = await get(`${PROJECT}/runs.csv?columns=uniqueName`);
  expect((await response.text()).split("\r\n")).toHaveLength(8);
  expect(calls()).toHaveLength(4);
});

test("an export returns 404 without requests if the service lacks the list", async () => {
  const { get, calls } = await startExports(ROWS, { UPSTREAM_PROFILE: "document" });
  const response = await get(`${PROJECT}/metrics.ndjson`);
  expect([response.status, await response.json()]).toMatchObject([
    404,
    { errors: [{ extensions: { code: "CAPABILITY_UNAVAILABLE" } }] },
  ]);
  expect(calls()).toEqual([]);
});

test("an export is reported as cancelled when its caller leaves while it is written", async () => {
  const rows = Array.from({ length: 28 }, (_, day) => row(day + 1, { description: "x".repeat(250_000) }));
  const { url, logged } = await startExports(rows);
  const { socket, write } = await openRaw(url);
  socket.once("data", () => socket.destroy());
  await write(`GET /export/${PROJECT}/runs.csv HTTP/1.1\r\nhost: a\r\nauthorization: token t0ken\r\n\r\n`);
  await expect.poll(logged).toContain('"what":"runs","code":"REQUEST_CANCELLED"');
});
