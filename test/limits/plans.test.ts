import { expect, onTestFinished, test } from "vitest";
import { startDemoService } from "../support/demo-gateway.ts";
import { startWatched } from "../support/watched-process.ts";

const CONDITIONS = ["a", "b", "c", "d", "e"] as const;

/** A short document that selects thousands of fields, of which each combination of its conditions makes a plan. */
const document = (number: number): string => `# ${number}
  query Q(${CONDITIONS.map((name) => `$${name}: Boolean!`).join()}) {
    ${CONDITIONS.map((name) => `${name}: __typename @include(if: $${name})`).join(" ")}
    ${Array.from({ length: 12 }, (_, index) => `type${index}: __type(name: "GatewayInfo") { ...Type }`).join(" ")}
  }
  fragment Name on __Type { name kind description specifiedByURL isOneOf }
  fragment Named on __Type { ...Name ofType { ...Name ofType { ...Name ofType { ...Name } } } }
  fragment Value on __InputValue { name description defaultValue isDeprecated deprecationReason type { ...Named } }
  fragment Field on __Field { name description isDeprecated deprecationReason type { ...Named } args { ...Value } }
  fragment Type on __Type { ...Named fields { ...Field } interfaces { ...Named fields { ...Field } } }`;

test("the plans of short documents with many conditions are bounded by DOCUMENT_CACHE_BYTES", async () => {
  const demo = await startDemoService();
  const { post, condition, stop } = await startWatched(demo.url);
  onTestFinished(stop);
  const run = async (number: number): Promise<void> => {
    for (let combination = 0; combination < 2 ** CONDITIONS.length; combination++) {
      const variables = Object.fromEntries(
        CONDITIONS.map((name, bit) => [name, Math.trunc(combination / 2 ** bit) % 2 === 1]),
      );
      const answer = await post({ query: document(number), variables });
      expect(await answer.json()).toEqual({ data: expect.any(Object) });
    }
  };
  await run(0);
  const before = await condition();
  for (let number = 1; number <= 6; number++) await run(number);
  const after = await condition();
  // The setting is at 16,000,000.
  expect(after.heapBytes - before.heapBytes).toBeLessThan(32_000_000);
});
