import { parseValue, valueFromASTUntyped } from "graphql";
import { expect, test } from "vitest";
import { startAgent } from "../support/agent.ts";
import { still } from "../support/demo-gateway.ts";
import { readPage } from "../docs/page.ts";
/* The answer to each question of docs/agents.md: a part of the result that holds for the demo. */
import ANSWERS from "./answers.json" with { type: "json" };
import { RELEASE_04 } from "../support/gateway.ts";

/**
 * Matchers that the data file can name. They match a list with more items than the given list, or a string that contains the given words.
 */
const MATCHERS: Readonly<Record<string, (given: never) => unknown>> = {
  among: (items: readonly unknown[]) =>
    expect.arrayContaining(items.map((each) => expect.objectContaining(expected(each) as object))),
  contains: (text: string) => expect.stringContaining(text),
};

function expected(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(expected);
  if (typeof part !== "object" || part === null) return part;
  const reported = Object.entries(part).map(([key, value]) => [key, expected(value)] as const);
  const [[first = "", given] = []] = Object.entries(part);
  // Safe: each matcher's argument in the file has the right type.
  return MATCHERS[first]?.(given as never) ?? Object.fromEntries(reported);
}

/** The calls of the page: a tool, and its arguments as GraphQL writes them. */
const calls = [...readPage("docs/agents.md").text.matchAll(/^\| [^|]+\? \| `(\w+)(?:\((.*)\))?` \|$/gm)].map(
  ([, tool = "", args = ""]) => ({ tool, input: valueFromASTUntyped(parseValue(`{ ${args} }`)) }),
);

test("answers twelve questions with one call each", async () => {
  const { use } = await startAgent({ env: RELEASE_04, now: still });
  expect(calls).toHaveLength(ANSWERS.length);
  for (const [index, { tool, input }] of calls.entries())
    expect({ tool, ...(await use(tool, input as Record<string, unknown>)) }).toMatchObject({
      isError: false,
      result: { data: expected(ANSWERS[index]) },
    });
});

test("finds projects of another owner", async () => {
  const { use } = await startAgent({ env: RELEASE_04, now: still });
  const { result } = await use("FindProjects", { owner: "grace" });
  expect(result).toMatchObject({ data: { projects: { nodes: [{ uniqueName: "grace.vision" }] } } });
});
