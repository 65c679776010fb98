import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Alias, Composer, Parser } from "yaml";
import { failure, outcomeOf } from "../support/errors.ts";
import { startRecords } from "../support/fake.ts";
import { type Answer, startGateway } from "../support/gateway.ts";
import { stopwatchRuns } from "../support/stopwatch.ts";
import CONFIG_TEXTS from "./config-texts.json" with { type: "json" };

/** Returns a function that counts the configurations parsed since the call. */
function countParsed() {
  const composed = vi.spyOn(Composer.prototype, "compose");
  onTestFinished(() => composed.mockRestore());
  return () => composed.mock.calls.length;
}

/**
 * Returns a function that counts the tokens read since the call. Configurations that are nested too deeply for the stack must not be read
 * to their end.
 */
function countWords() {
  const read = vi.spyOn(Parser.prototype, "next");
  onTestFinished(() => read.mockRestore());
  return () => read.mock.calls.length;
}

const CONFIG = `{ experiment(id: "ada.mnist.42") { name config { kind raw } } }`;

/** Starts a gateway in front of a service with one experiment, whose configuration is this string. */
async function startText(content: string, key = "content") {
  const service = await startRecords({
    "ada/mnist/experiments/42/": { id: 42, name: "base", [key]: content },
    "ada/mnist/experiments/42/statuses": { results: [] },
    "ada/mnist/groups/5/": { id: 5, content },
  });
  return startGateway({ upstream: service });
}

/** The raw configuration that the gateway parses from this string. */
async function rawOf(content: string): Promise<unknown> {
  const { ask } = await startText(content);
  const { data, errors } = (await ask(CONFIG)) as Answer<{ experiment: { config: { raw: unknown } | null } }>;
  expect(errors).toBeUndefined();
  return data.experiment.config && data.experiment.config.raw;
}

describe("the source of a configuration", () => {
  test("is parsed once, and only if a field needs it", async () => {
    const parsed = countParsed();
    const { ask } = await startText("kind: experiment");
    const others = `{ experiment(id: "ada.mnist.42") { name tags parameters { name } } group(id: "ada.mnist.5") { content } }`;
    expect(await ask(others)).toEqual({
      data: {
        experiment: { name: "base", tags: null, parameters: null },
        group: { content: "kind: experiment" },
      },
    });
    expect(parsed()).toBe(0);
    const config = "config { kind raw }";
    const shown = { kind: "experiment", raw: { kind: "experiment" } };
    expect(
      await ask(`{
        one: experiment(id: "ada.mnist.42") { a: ${config} b: ${config} }
        two: experiment(id: "ada.mnist.42") { ${config} }
      }`),
    ).toEqual({ data: { one: { a: shown, b: shown }, two: { config: shown } } });
    expect(parsed()).toBe(1);
  });

  const LIMIT = 16_384;

  test("is parsed up to 16,384 characters, and longer text is an error", async () => {
    const longest = `kind: ${"x".repeat(LIMIT - 6)}`;
    expect(await rawOf(longest)).toEqual({ kind: "x".repeat(LIMIT - 6) });
    const parsed = countParsed();
    const { ask } = await startText(`${longest}x`);
    expect(await ask(CONFIG, {}, { headers: { "x-request-id": "request-1" } })).toEqual({
      data: { experiment: { name: "base", config: null } },
      errors: [
        {
          message: "config: expected at most 16384 characters of YAML from the service, got 16385.",
          locations: [{ line: 1, column: 41 }],
          path: ["experiment", "config"],
          extensions: { code: "UPSTREAM_BAD_RESPONSE", requestId: "request-1" },
        },
      ],
    });
    expect(parsed()).toBe(0);
    expect(await ask(`{ group(id: "ada.mnist.5") { content } }`)).toEqual({
      data: { group: { content: `${longest}x` } },
    });
  });

  test.each([
    ...CONFIG_TEXTS,
    {
      case: "integers beyond numbers",
      content: "{seed: -9007199254740993, 9007199254740993: 0x1f, last: 9007199254740991, low: 1e300}",
      raw: {
        seed: "rawJSON" in JSON ? -9007199254740992 : "-9007199254740993",
        "9007199254740993": 31,
        last: 9007199254740991,
        low: 1e300,
      },
    },
    {
      case: "any keys",
      content: "__proto__: {polluted: true}\nconstructor: 1\n[a, b]: 2\n? {c: d}\n: 3\n7: 4\n",
      raw: JSON.parse(
        '{"7":4,"__proto__":{"polluted":true},"constructor":1,"[\\"a\\",\\"b\\"]":2,"{\\"c\\":\\"d\\"}":3}',
      ) as object,
    },
  ])("yields only JSON values and no stderr output: $case", async ({ content, raw }) => {
    const warned = vi.spyOn(process, "emitWarning");
    expect(await rawOf(content)).toEqual(raw);
    expect(warned).not.toHaveBeenCalled();
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  const bomb = Array.from({ length: 9 }, (_, level) =>
    level === 0 ? "a0: &a0 [x,x,x,x]" : `a${level}: &a${level} [${`*a${level - 1},`.repeat(9)}]`,
  ).join("\n");

  const merges = Array.from({ length: 20 }, (_, level) =>
    level === 0 ? "a0: &a0 {b: 1}" : `a${level}: &a${level} {<<: [*a${level - 1}, *a${level - 1}]}`,
  ).join("\n");
  const manyMerges = `b: &b {cmd: ${"x".repeat(3_000)}}\n${"x: {<<: *b}\n".repeat(40)}`;

  test("is read in one pass despite aliases within many anchors", async () => {
    const searched = vi.spyOn(Alias.prototype, "resolve");
    onTestFinished(() => searched.mockRestore());
    const anchors = [...Array(100).keys()];
    const list = `${anchors.map((index) => `&a${index} [`).join("")}${"*x,".repeat(40)}${"]".repeat(100)}`;
    const raw = await rawOf(`x: &x 1\na: ${list}\nb: [${anchors.map((index) => `*a${index}`).join()}]`);
    const lists: unknown[] = [Array(40).fill(1)];
    for (let level = 1; level < anchors.length; level++) lists.unshift([lists[0]]);
    expect(raw).toEqual({ x: 1, a: lists[0], b: lists });
    expect(searched.mock.calls.length).toBeLessThan(200);
  });

  test.each([
    ["expands without limit", bomb],
    ["expands without limit by merges", merges],
    ["merges one object into each of many", manyMerges],
    ["merges a value that is not an object", "a: {<<: 5}"],
    ["merges a list with an item that is not an object", "a: {<<: [{b: 1}, 5]}"],
    ["merges itself", "a: &a {<<: *a}"],
    ["refers to itself", "a: &a [*a]"],
    ["refers to an undefined anchor", "a: *b"],
    ["is a sentence", "just a sentence"],
    ["is not YAML", "run: {cmd: [unclosed"],
    ["is nested more deeply than a result may be", `a: ${"[".repeat(300)}${"]".repeat(300)}`],
    ["is nested as deeply as its length", `a: ${"[".repeat(8_000)}${"]".repeat(8_000)}`],
    ["is nested as deeply as its length, in lists", "- ".repeat(8_000)],
    ["contains several documents", "a: 1\n---\nb: 2"],
    ["consists of errors", "]".repeat(16_000)],
  ])("that %s fails each `config` field, but not the record", async (_, content) => {
    const [parsed, words] = [countParsed(), countWords()];
    for (const key of ["content", "config"]) {
      const { ask, logged } = await startText(content, key);
      const answer = await ask(
        `{ experiment(id: "ada.mnist.42") { name config { kind raw } again: config { kind } } }`,
      );
      const message =
        "config: expected an object in JSON or YAML from the service, got a string that is neither.";
      expect(outcomeOf(answer)).toEqual({
        data: { experiment: { name: "base", config: null, again: null } },
        errors: ["config", "again"].map((at) =>
          failure(`experiment.${at}`, "UPSTREAM_BAD_RESPONSE", message),
        ),
      });
      expect(logged()).not.toContain("unexpected");
    }
    expect(parsed()).toBeLessThanOrEqual(2);
    expect(words()).toBeLessThan(2_000);
  });

  test("is parsed in time slices", async () => {
    const content = `a: [${"{b: 1},".repeat(2_000)}]`;
    const { ask } = await startText(content);
    const looks = stopwatchRuns();
    const answer = await ask(`{ experiment(id: "ada.mnist.42") { config { raw } } }`);
    expect(answer).toEqual({
      data: { experiment: { config: { raw: { a: Array.from({ length: 2_000 }, () => ({ b: 1 })) } } } },
    });
    // The clock is read at least once per hundred of 10,000 lexemes.
    expect(looks()).toBeGreaterThan(100);
  });

  test.each(["", " \n"])("that is empty (%j) is not a configuration", async (content) => {
    expect(await rawOf(content)).toBe(null);
  });

  test("is also read from the documented key `config`", async () => {
    const { ask } = await startText("kind: job", "config");
    expect(await ask(CONFIG)).toEqual({
      data: { experiment: { name: "base", config: { kind: "job", raw: { kind: "job" } } } },
    });
  });
});
