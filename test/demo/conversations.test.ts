import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { idsIn, openDemo } from "./demo-clock.ts";

type Step = readonly [request: string, status: number, answer?: unknown, body?: unknown];

// Safe: the head of the file defines its format.
const CONVERSATIONS = parse(readFileSync(new URL("conversations.yaml", import.meta.url), "utf8")) as Readonly<
  Record<string, readonly Step[]>
>;

const STEP = /^(?:([a-z]+) )?([A-Z]+ \S+)$/;

describe("the demo service:", () => {
  test.each(Object.entries(CONVERSATIONS))("%s", async (_, steps) => {
    const { ask, wait } = await openDemo();
    for (const [request, status, expected, body] of steps) {
      const [, who = "ada", line] = STEP.exec(request) ?? [];
      if (line === undefined) {
        wait(Number(/^wait (\S+)$/.exec(request)?.[1]));
        continue;
      }
      const { json, text, ...answer } = await ask(line, body, who === "nobody" ? null : who);
      const isText = typeof expected === "string";
      expect({
        request,
        ...answer,
        json: json?.results ? { ...json, ids: idsIn({ json }) } : json,
        text: isText && text.includes(expected) ? expected : text,
      }).toMatchObject({
        request,
        status,
        ...(expected !== undefined && { [isText ? "text" : "json"]: expected }),
      });
    }
  });
});
