import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { startTwo } from "../support/demo-gateway.ts";
import { profileFile } from "../support/tracker.ts";
import { EXISTING_ROOTS, operation, VARIABLES, withoutPorts } from "../support/random-operations.ts";
import MATERIAL from "./look-ahead.json" with { type: "json" };

/** Fields whose values change over time, fields that always fail, and names that only one run has. */
const LEFT_OUT = new Set(MATERIAL.leftOut);

/** The number of requests of the first list that are missing from the second list. */
function beyond(these: readonly string[], those: readonly string[]): string[] {
  const left = [...those];
  return these.filter((call) => {
    const at = left.indexOf(call);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

test("prefetching changes no result and adds no request", async () => {
  // A server without lists, and therefore without batches, whose records have the newer keys.
  const env = { UPSTREAM_PROFILE: profileFile(JSON.stringify(MATERIAL.profile)) };
  const ask = await startTwo({ env }, { env, lookAhead: false });
  const material = { roots: EXISTING_ROOTS, leftOut: LEFT_OUT, depth: 4 };

  await fc.assert(
    fc.asyncProperty(operation(material), async (document) => {
      const { answer, calls, expected, expectedCalls } = await ask(document, VARIABLES);
      expect(answer.errors).toBeUndefined();
      expect(withoutPorts(answer.data)).toEqual(withoutPorts(expected.data));
      expect(beyond(calls, expectedCalls)).toEqual([]);
      expect(new Set(calls).size).toBe(calls.length);
    }),
    { numRuns: cases(40, 200) },
  );
});
