import fc from "fast-check";
import { expect, test } from "vitest";
import { startBroken } from "../support/broken.ts";
import { cases } from "../support/cases.ts";
import { startTwo } from "../support/demo-gateway.ts";
import type { Answer } from "../support/gateway.ts";
import { nullAt } from "../support/incremental.ts";
import { EXISTING_ROOTS, listOperation, operation, ROOTS, VARIABLES } from "../support/random-operations.ts";
import { referencePlanner } from "./reference-planner.ts";

/** Fields whose values change over time. */
const LEFT_OUT = new Set(["durationSeconds", "ExperimentJob.logs"]);

/**
 * A response without the values that differ between requests. For a null that propagated from a child, only the path is kept: its errors
 * depend on which field failed first.
 */
function comparable(document: string, { data, errors = [] }: Answer<object>): string {
  const reported = errors.map((error) => {
    const { path = [], locations = [] } = error;
    const place = nullAt(data, path);
    // Errors of one failure are merged into one. Its path is that of the null, and its location that of a field below it.
    const [{ column = 1 } = {}] = locations;
    const isOfField = document.startsWith(`${path.findLast(isName)}`, column - 1);
    const isBelow = place.length < path.length || (path.length > 0 && !isOfField);
    return JSON.stringify(isBelow ? { nullAt: place } : error);
  });
  return [JSON.stringify(data), ...new Set(reported)]
    .join("\n")
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "")
    .replaceAll(/"requestId":"[^"]*"/g, '"requestId":""');
}

const isName = (key: string | number): boolean => typeof key === "string";

/** Sends operations to a gateway with plans and to one of graphql-js, in front of a service at which some paths fail. */
async function startBoth(share: number, more: Record<string, string> = {}, areListsKept = false) {
  const env = { MAX_DEPTH: "30", ...more };
  const ask = await startTwo({ env }, { env, planner: referencePlanner }, ({ url }) =>
    startBroken(url, share, areListsKept),
  );
  return async (document: string) => {
    const { answer, expected, ...calls } = await ask(document, VARIABLES);
    return { ...calls, answer: comparable(document, answer), expected: comparable(document, expected) };
  };
}

test("responses match graphql-js byte for byte, with the same upstream requests", async () => {
  const ask = await startBoth(0);
  await fc.assert(
    fc.asyncProperty(operation({ roots: EXISTING_ROOTS, leftOut: LEFT_OUT, depth: 4 }), async (document) => {
      const { answer, calls, expected, expectedCalls } = await ask(document);
      expect(answer).toBe(expected);
      expect(calls).toEqual(expectedCalls);
    }),
    { numRuns: cases(5, 40) },
  );
});

test("a response key called __proto__ works like any other", async () => {
  const ask = await startBoth(0);
  const { answer, expected } = await ask(`{ __proto__: project(id: "ada.mnist") { __proto__: id name } }`);
  expect([answer, answer.includes('"__proto__":{"__proto__"')]).toEqual([expected, true]);
});

test.each([0, 0.1, 0.5])("lists with shared records match graphql-js at failure rate %d", async (share) => {
  // Without lists by ids: the gateway remembers for a while that the service rejected such a list.
  const ask = await startBoth(share, { UPSTREAM_PROFILE: "polyaxon-0.2" }, true);
  await fc.assert(
    fc.asyncProperty(listOperation({ leftOut: LEFT_OUT, depth: 3 }), async (document) => {
      const { answer, expected } = await ask(document);
      expect(answer).toBe(expected);
    }),
    { numRuns: cases(4, 25) },
  );
});

// Requests are not compared here: a failure cancels unnecessary requests, early or late.
test.each([0, 0.1, 0.5])(
  "responses with missing records match graphql-js at failure rate %d",
  async (share) => {
    const ask = await startBoth(share);
    await fc.assert(
      fc.asyncProperty(operation({ roots: ROOTS, leftOut: LEFT_OUT, depth: 4 }), async (document) => {
        const { answer, expected } = await ask(document);
        expect(answer).toBe(expected);
      }),
      { numRuns: cases(5, 40) },
    );
  },
);
