import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readConfig, SETTINGS, warningsOf } from "../../src/config.ts";
import { issuesOf } from "../support/settings-issues.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { TEST_SETTINGS } from "../support/test-settings.ts";
import EXTREME_SETTINGS from "./extreme-settings.json" with { type: "json" };
import WRONG_SETTINGS from "./wrong-settings.json" with { type: "json" };

describe("settings", () => {
  test("are listed in docs/settings.md with their defaults", () => {
    const text = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8");
    const rows = [...text.matchAll(/^\| `([A-Z_]+)` \| (?:`([^`]+)`|[^|]+) \| \S/gm)];
    const printed = Object.fromEntries(rows.map(([, name = "", value]) => [name, value]));
    expect(Object.keys(printed)).toEqual(SETTINGS);
    expect(readConfig(printed)).toEqual(readConfig({}));
  });

  test("that are limits have values in test-settings.json", () => {
    const limits = Object.entries(readConfig({})).filter(
      ([name, value]) => typeof value === "number" && /^(?:MAX_|UPSTREAM_)/.test(name),
    );
    expect(limits.filter(([name]) => TEST_SETTINGS[name] === undefined)).toEqual([]);
  });

  test("that are empty count as unset", () => {
    const empty = Object.fromEntries(Object.keys(WRONG_SETTINGS).map((name) => [name, ""]));
    expect(readConfig({ ...empty, HOST: "", PORT: " " })).toEqual(readConfig({}));
  });

  const wrong = Object.entries(WRONG_SETTINGS).flatMap(([name, texts]) =>
    texts.map((text) => [name, text] as const),
  );

  test.each(wrong)("with %s set to %j get a one-line error without the value", (name, text) => {
    const problems = issuesOf({ [name]: text });
    expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name}: \\S`))]);
    // A short number can appear in the message for another reason: `expected number to be >0`.
    for (const part of ["canary", ...(text.length > 3 ? [text] : [])])
      expect(problems.join("")).not.toContain(part);
  });

  test.each(Object.entries(EXTREME_SETTINGS))("accept for %s each of %j", (name, texts) => {
    expect(texts.flatMap((text) => issuesOf({ [name]: text }))).toEqual([]);
  });

  test("that are numbers have their limits in extreme-settings.json", () => {
    const numbers = SETTINGS.filter((name) => typeof Object(readConfig({}))[name] === "number");
    expect(Object.keys(EXTREME_SETTINGS)).toEqual(expect.arrayContaining(numbers));
  });

  test("all have invalid examples in wrong-settings.json, except HOST", () => {
    expect([...Object.keys(WRONG_SETTINGS), "HOST"].toSorted()).toEqual(SETTINGS.toSorted());
  });

  test("that are missing are reported together with invalid ones", () => {
    expect(issuesOf({ NODE_ENV: "production", PORT: "canary" })).toEqual([
      expect.stringMatching(/^PORT: /),
      "UPSTREAM_URL: expected the address of the service (with NODE_ENV=production the demo starts only with DEMO=on)",
    ]);
  });

  test.each([
    [{ NODE_ENV: "production", DEMO: "on" }, []],
    [{ NODE_ENV: "production", UPSTREAM_URL: "http://service.example" }, []],
    [{ NODE_ENV: "development" }, []],
    [{ DEMO: "off" }, ["UPSTREAM_URL: expected the address of the service (DEMO is off)"]],
  ])("such as %j determine whether the demo may start", (environment, problems) => {
    expect(issuesOf(environment as Record<string, string>)).toEqual(problems);
  });

  test.each([
    ["MAX_DEPHT", "MAX_DEPTH"],
    ["max_depth", "MAX_DEPTH"],
    ["UPSTREAM_URI", "UPSTREAM_URL"],
    ["UPSTREAM_TIMEOUT", "UPSTREAM_TIMEOUT_MS"],
    ["TRUSTED_DOCUMENT", "TRUSTED_DOCUMENTS"],
    ["WORKERS", null],
    ["REDIS_URL", null],
    ["LIVE_RELOADING", null],
  ])("%s is unknown, and the error suggests %s", (name, meant) => {
    const hint = meant === null ? "" : `did you mean ${meant}? Or `;
    expect(issuesOf({ [name]: "canary" })).toEqual([`${name}: unknown setting; ${hint}see docs/settings.md`]);
    expect(issuesOf({ [name]: " " })).toEqual([]);
  });

  test.each([
    ["CORS_ORIGIN", "CORS_ORIGINS"],
    ["CACHE_TTL", "CACHE_TTL_MS"],
    ["log_level", "LOG_LEVEL"],
    ["EXPLIAN", "EXPLAIN"],
    ["CALLER_SALTS_FILE", "CALLER_SALT"],
  ])("%s has no effect, and the warning suggests %s", (name, meant) => {
    const environment = { [name]: "canary" };
    expect(warningsOf(environment, readConfig(environment))).toEqual([
      `${name} is not a setting and has no effect; did you mean ${meant}?`,
    ]);
  });

  test("and similar names of other programs cause no warnings", () => {
    const names =
      "PATH HOME HOSTNAME HOSTS PORTS DEMOS MCP_URL NODE_OPTIONS HTTP_PROXY LOG PUBLIC CACHE CALLER_SALT_FILE";
    const environment = Object.fromEntries(names.split(" ").map((name) => [name, "canary"]));
    expect(warningsOf({ ...environment, CORS_ORIGINS: "http://a.example" }, readConfig({}))).toEqual([]);
  });

  test("such as UPSTREAM_URL cause a warning if they repeat the profile's path", () => {
    const warned = (environment: Record<string, string>) => warningsOf(environment, readConfig(environment));
    const warning = "UPSTREAM_URL ends with /api/v1, which the profile adds: omit it";
    expect(warned({ UPSTREAM_URL: "https://tracker.example.com/api/v1/" })).toEqual([warning]);
    expect(warned({ UPSTREAM_URL: "https://a.example/x/api/v1", UPSTREAM_PROFILE: "polyaxon-0.4" })).toEqual([
      warning,
    ]);
    expect(warned({ UPSTREAM_URL: "https://tracker.example.com/api/v2" })).toEqual([]);
  });

  test("of other programs and of Kubernetes service links are ignored", () => {
    const reported = "SERVICE_HOST SERVICE_PORT SERVICE_PORT_HTTP PORT PORT_6379_TCP PORT_6379_TCP_PROTO";
    const links = ["UPSTREAM", "MAX_LOGS", "TRUSTED"].flatMap((service) =>
      reported.split(" ").map((name) => [`${service}_${name}`, "tcp://10.0.0.7:6379"]),
    );
    const others = { HOME: "/", REDIS_HOST: "canary", REDIS_PORT: "6379", CANARY_FILE: "canary" };
    expect(issuesOf({ ...Object.fromEntries(links), ...others })).toEqual([]);
  });
});

test.each(["", "/", "/two/parts/"])("appends API paths to the upstream path %j", async (prefix) => {
  const service = await startFake(() => ({ json: { id: 42, last_status: "running" } }));
  const gateway = await startGateway({ upstream: { url: service.url + prefix } });
  await gateway.ask(`{ experiment(id: "ada.mnist.42") { status } }`);
  expect(service.seen().map(({ path }) => path)).toEqual([
    `${prefix.replace(/\/$/, "")}/api/v1/ada/mnist/experiments/42/`,
  ]);
});
