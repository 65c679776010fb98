import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { BUILT } from "../support/built.ts";
import { READY_LINE, startMain, startProgram } from "../support/main-process.ts";
import { PATIENT } from "../support/patience.ts";
import { writeFiles } from "../support/tls.ts";

/** What `rungraph --check-config` does with these variables. */
async function check(environment: Record<string, string>) {
  const program = [process.execPath, join(BUILT, "dist/src/cli.js"), "--check-config"];
  const { ended, out, err } = startProgram(program, environment, BUILT);
  const code = await ended;
  const [heading, ...faults] = err().trimEnd().split("\n");
  return { code, out: out(), heading, faults };
}

const OK = { code: 0, out: "ok\n", heading: "", faults: [] };
const faulty = (...faults: string[]) => ({
  code: 1,
  out: "",
  heading: "The settings cannot be used:",
  faults,
});

describe("the check of the settings", () => {
  test.each([
    ["MAX_DEPHT", "MAX_DEPTH"],
    ["UPSTREAM_RETRY", "UPSTREAM_RETRIES"],
    ["UPSTREAM_HEADER_FILE", "UPSTREAM_HEADERS_FILE"],
    ["CORS_ORIGIN", "CORS_ORIGINS"],
    ["max_depth", "MAX_DEPTH"],
  ])("fails for %s and asks whether %s was meant", async (given, meant) => {
    expect(await check({ [given]: "canary" })).toEqual(
      faulty(`${given}: expected the name of a setting. Did you mean ${meant}?`),
    );
  });

  test("fails for names that begin like settings and resemble none", async () => {
    const names = [
      "UPSTREAM_COLOR",
      "MAX_SOMETHING_ELSE",
      "REDIS_PASSWORD",
      "CACHE_DIRECTORY",
      "LIVE_RELOADING",
    ];
    expect(await check(Object.fromEntries(names.map((name) => [name, "canary"])))).toEqual(
      faulty(...names.map((name) => `${name}: expected the name of a setting`)),
    );
  });

  test("tells names and values together, a line each", async () => {
    expect(
      await check({ MAX_DEPHT: "7", PORT: "canary", REDIS_URL_FILE: "/canary", UPSTREAM_PROFILE: "canary" }),
    ).toEqual(
      faulty(
        "MAX_DEPHT: expected the name of a setting. Did you mean MAX_DEPTH?",
        "REDIS_URL_FILE: expected a file with REDIS_URL, got the path of none",
        expect.stringMatching(/^UPSTREAM_PROFILE: expected document, /),
        "PORT: expected a whole number from 0 to 65535",
      ),
    );
  });

  test("passes over what Kubernetes tells of services, and what other programs know", async () => {
    const links = ["REDIS", "UPSTREAM", "CACHE", "MAX_LOGS", "RUNGRAPH"].flatMap((service) => [
      [`${service}_SERVICE_HOST`, "10.0.0.7"],
      [`${service}_SERVICE_PORT`, "6379"],
      [`${service}_SERVICE_PORT_HTTP`, "6379"],
      [`${service}_PORT`, "tcp://10.0.0.7:6379"],
      [`${service}_PORT_6379_TCP`, "tcp://10.0.0.7:6379"],
      [`${service}_PORT_6379_TCP_PROTO`, "tcp"],
      [`${service}_PORT_6379_TCP_PORT`, "6379"],
      [`${service}_PORT_6379_TCP_ADDR`, "10.0.0.7"],
    ]);
    const others = {
      REDIS_HOST: "redis",
      NODE_ENV: "test",
      HOSTNAME: "pod-7",
      HOME: "/",
      LANG: "C",
      CI: "1",
    };
    expect(await check({ ...Object.fromEntries(links), ...others })).toEqual(OK);
  });

  test("takes all that a start takes, and the start only warns of names", async () => {
    const { headers } = writeFiles({ headers: '{"x-api-key": "canary"}\n' });
    const environment = { UPSTREAM_HEADERS_FILE: headers, REDIS_PORT: "6379" };
    expect(await check(environment)).toEqual(OK);
    const { printed, err } = startMain({
      ...environment,
      PORT: "0",
      CORS_ORIGIN: "x",
      UPSTREAM_COLOR: "red",
    });
    await printed(READY_LINE);
    await vi.waitUntil(() => err() !== "", PATIENT);
    expect(JSON.parse(err())).toMatchObject({
      level: 40,
      msg: "CORS_ORIGIN is no setting and has no effect. Was CORS_ORIGINS meant?",
    });
  });
});
