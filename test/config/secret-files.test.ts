import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { createFolder } from "../support/build.ts";
import { faultsOf } from "../support/faults-of.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { startMain } from "../support/main-process.ts";
import { startProxy, startService, writeFiles } from "../support/tls.ts";

const QUERY = "{ viewer { username } }";

describe("a setting whose value is in a file", () => {
  test.each(["", "\n", "\r\n"])("is as if it were set, without the end of the line %j", async (end) => {
    const service = await startFake(() => ({ json: { username: "ada" } }));
    const { headers } = writeFiles({ headers: `{"x-api-key": "canary-1"}${end}` });
    const gateway = await startGateway({ upstream: service, env: { UPSTREAM_HEADERS_FILE: headers } });
    expect(await gateway.ask(QUERY)).toEqual({ data: { viewer: { username: "ada" } } });
    expect(service.seen().map((request) => request.headers["x-api-key"])).toEqual(["canary-1"]);
  });

  test("loses one end of a line only", () => {
    const { headers } = writeFiles({ headers: `{"x-key": "a b"}\n\n` });
    expect(readConfig({ UPSTREAM_HEADERS_FILE: headers }).UPSTREAM_HEADERS).toEqual({ "x-key": "a b" });
    const { salt } = writeFiles({ salt: "a long random text\n\n" });
    expect(readConfig({ CALLER_SALT_FILE: salt }).CALLER_SALT).toBe("a long random text\n");
  });

  test("may be the proxy with its password", async () => {
    const service = await startService();
    const proxy = await startProxy(service, { credentials: "gateway:pa ss" });
    const { url } = writeFiles({ url: `${proxy.url.replace("//", "//gateway:pa%20ss@")}\n` });
    const env = { UPSTREAM_URL: service.url, UPSTREAM_PROXY_FILE: url };
    const gateway = await startGateway({ upstream: service, env });
    expect(await gateway.ask(QUERY)).toEqual({ data: { viewer: { username: "ada" } } });
    expect(proxy.lines()).toEqual(["CONNECT tracker.invalid:80"]);
  });

  test("cannot be set beside it", () => {
    const { salt } = writeFiles({ salt: "a long random text" });
    expect(faultsOf({ CALLER_SALT_FILE: salt, CALLER_SALT: "another random text" })).toEqual([
      "CALLER_SALT_FILE: expected either CALLER_SALT or CALLER_SALT_FILE, got both",
    ]);
    // What is blank counts as not set.
    expect(faultsOf({ CALLER_SALT_FILE: salt, CALLER_SALT: "" })).toEqual([]);
    expect(faultsOf({ CALLER_SALT_FILE: " ", CALLER_SALT: "another random text" })).toEqual([]);
  });

  test("says what is wrong with the file, and neither where it is nor what it contains", async () => {
    const files = writeFiles({
      empty: "",
      blank: "\n",
      long: "canary ".repeat(10_000),
      value: "canary",
      proxy: "http://canary:canary@proxy:3128/canary",
    });
    const folder = createFolder("canary-");
    mkdirSync(join(folder, "directory"));
    const expected = {
      [join(folder, "none")]: "expected a file with UPSTREAM_HEADERS, got the path of none",
      [join(folder, "directory")]: "expected a file with UPSTREAM_HEADERS, got a directory",
      [join(files.empty, "below")]:
        "expected a file with UPSTREAM_HEADERS, got one that cannot be read (ENOTDIR)",
      [files.empty]: "expected a file with UPSTREAM_HEADERS, got an empty one",
      [files.blank]: "expected a file with UPSTREAM_HEADERS, got an empty one",
      [files.long]: "expected a file with UPSTREAM_HEADERS, got one of more than 65536 bytes",
      [files.value]: "expected a JSON object of header names and values",
      "/dev/zero": "expected a file with UPSTREAM_HEADERS, got something else",
    };
    for (const [path, fault] of Object.entries(expected))
      expect(faultsOf({ UPSTREAM_HEADERS_FILE: path })).toEqual([`UPSTREAM_HEADERS_FILE: ${fault}`]);
    const { ended, err } = startMain({
      UPSTREAM_HEADERS_FILE: files.value,
      UPSTREAM_PROXY_FILE: files.proxy,
    });
    expect(await ended).toBe(2);
    expect(JSON.parse(err())).toMatchObject({
      msg: "The settings cannot be used",
      faults: [
        "UPSTREAM_HEADERS_FILE: expected a JSON object of header names and values",
        expect.stringMatching(/^UPSTREAM_PROXY_FILE: expected an http URL such as /),
      ],
    });
    expect(err()).not.toContain("canary");
  });

  test("does not wait for a pipe into which nobody writes", () => {
    const pipe = join(createFolder("pipe-"), "pipe");
    execFileSync("mkfifo", [pipe]);
    expect(faultsOf({ UPSTREAM_HEADERS_FILE: pipe })).toEqual([
      "UPSTREAM_HEADERS_FILE: expected a file with UPSTREAM_HEADERS, got something else",
    ]);
  });
});
