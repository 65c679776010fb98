import { describe, expect, test } from "vitest";
import { openRaw } from "../http/raw-socket.ts";
import type { FakeResponse } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { startEndless } from "../support/logs.ts";
import { RUN, startDownloads } from "./download-client.ts";

const FILE: FakeResponse = {
  text: "0123456789",
  headers: { "content-length": "10", etag: '"v1"', "accept-ranges": "bytes" },
};

describe("HEAD of a download", () => {
  test.each([
    ["logs", "ada/mnist/experiments/42/logs/"],
    ["outputs", "ada/mnist/experiments/42/outputs/download"],
    ["files?path=a", "ada/mnist/experiments/42/outputs/files?path=a"],
  ])("returns the headers of GET without a body: %s", async (path, call) => {
    const { take, service } = await startDownloads(() => FILE);
    const got = await take({}, `${RUN}/${path}`);
    expect(got).toMatchObject({ status: 200, body: "0123456789", headers: { "content-length": "10" } });
    expect(await take({}, `${RUN}/${path}`, "HEAD")).toEqual({ ...got, body: "" });
    expect(service.calls()).toEqual([`GET ${call}`, `GET ${call}`]);
  });

  test.each<[string, FakeResponse]>([
    ["404", { status: 404, json: { detail: "Not found." } }],
    // Only the body of this response shows that the token is invalid.
    ["401", { status: 403, json: { detail: "Invalid token." } }],
    ["503", { status: 503, json: {}, headers: { "retry-after": "7" } }],
  ])("returns the status of a failed GET: %s", async (status, reported) => {
    const { take } = await startDownloads(() => reported);
    const got = await take();
    expect(got.status).toBe(Number(status));
    expect(await take({}, undefined, "HEAD")).toEqual({ ...got, body: "" });
  });

  test("describes the whole file, whatever range is requested", async () => {
    const { take, service } = await startDownloads(() => FILE);
    expect(await take({ range: "bytes=2-5" }, undefined, "HEAD")).toMatchObject({ status: 200, body: "" });
    expect(service.seen()[0]?.headers).not.toHaveProperty("range");
  });

  test("aborts the upstream response and releases its permit", async () => {
    const service = await startEndless();
    const { url } = await startGateway({ upstream: service, env: { MAX_DOWNLOADS: "1" } });
    const headers = { authorization: "token t0ken" };
    const head = await fetch(`${url}/downloads/${RUN}/logs`, { method: "HEAD", headers });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    await service.gone;
    expect(await (await fetch(`${url}/metrics`)).text()).toContain("\nrungraph_downloads_running 0\n");
  });

  test("leaves its connection ready for the next request", async () => {
    const { url } = await startDownloads(() => FILE);
    const { write, statuses } = await openRaw(url);
    const head = `/downloads/${RUN}/outputs HTTP/1.1\r\nHost: a\r\nAuthorization: token t0ken\r\n\r\n`;
    await write(`HEAD ${head}`);
    expect(await statuses(1, "\r\n\r\n")).toEqual(["200 OK"]);
    await write(`GET ${head}`);
    expect(await statuses(2, "\r\n\r\n0123456789")).toEqual(["200 OK", "200 OK"]);
  });
});

test("file downloads, including HEAD, count towards the token's upstream rate limit", async () => {
  const env = { UPSTREAM_PROFILE: "polyaxon-0.4", UPSTREAM_RATE_LIMIT: "20/60" };
  const { take, service } = await startDownloads(() => ({ text: "abcd" }), env);
  const statuses: number[] = [];
  for (let asked = 0; asked < 30; asked++)
    statuses.push((await take({}, `${RUN}/files?path=a`, asked % 2 === 0 ? "GET" : "HEAD")).status);
  const sent = statuses.filter((status) => status === 200).length;
  expect(sent).toBeLessThanOrEqual(20);
  expect(service.calls()).toHaveLength(sent);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
});
