import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { issuesOf } from "../support/settings-issues.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { writeFiles } from "../support/tls.ts";

const QUERY = "{ viewer { username } }";

describe("a setting read from a file", () => {
  test.each(["", "\n", "\r\n"])(
    "works like a direct setting, without the file's line ending %j",
    async (end) => {
      const service = await startFake(() => ({ json: { username: "ada" } }));
      const { headers } = writeFiles({ headers: `{"x-api-key": "canary-1"}${end}` });
      const gateway = await startGateway({ upstream: service, env: { UPSTREAM_HEADERS_FILE: headers } });
      expect(await gateway.ask(QUERY)).toEqual({ data: { viewer: { username: "ada" } } });
      expect(service.seen().map((request) => request.headers["x-api-key"])).toEqual(["canary-1"]);
    },
  );

  test("can be any setting, including another file's path", () => {
    const { port, host, none } = writeFiles({ port: "4321\n", host: "::1\r\n", none: "/canary\n" });
    expect(readConfig({ PORT_FILE: port, HOST_FILE: host })).toMatchObject({ PORT: 4321, HOST: "::1" });
    expect(issuesOf({ UPSTREAM_CA_FILE_FILE: none })).toEqual([
      "UPSTREAM_CA_FILE_FILE: expected the path of a file that can be read",
    ]);
  });

  test("cannot also be set directly", () => {
    const { port } = writeFiles({ port: "4321" });
    expect(issuesOf({ PORT_FILE: port, PORT: "4322" })).toEqual([
      "PORT_FILE: expected a file with PORT, got PORT as well",
    ]);
    // A blank value counts as not set.
    expect(issuesOf({ PORT_FILE: port, PORT: "" })).toEqual([]);
    expect(issuesOf({ PORT_FILE: " ", PORT: "4322" })).toEqual([]);
  });

  test("has errors that reveal neither the file's path nor its contents", () => {
    const { blank, value } = writeFiles({ blank: " \n", value: "canary" });
    const problem = (path: string) => issuesOf({ UPSTREAM_HEADERS_FILE: path });
    const expected = "UPSTREAM_HEADERS_FILE: expected a file with UPSTREAM_HEADERS, got";
    expect(problem(join(value, "below"))).toEqual([`${expected} one that cannot be read (ENOTDIR)`]);
    expect(problem("/canary")).toEqual([`${expected} one that cannot be read (ENOENT)`]);
    expect(problem(blank)).toEqual([`${expected} an empty one`]);
    expect(problem(value)).toEqual([
      "UPSTREAM_HEADERS_FILE: expected a JSON object of header names and values",
    ]);
  });
});
