import { expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

const JSON_TYPE = "application/json; charset=utf-8";
const NEWER_TYPE = "application/graphql-response+json; charset=utf-8";

/** Sends a document both ways, which are answered by different codecs, and gives what both say. */
async function start() {
  const gateway = await startGateway({ upstream: await startFake(() => undefined) });
  return async (accept: string, query: string) => {
    const endpoint = `${gateway.url}/graphql`;
    const answers = [
      await fetch(`${endpoint}?query=${encodeURIComponent(query)}`, { headers: { accept } }),
      await fetch(endpoint, {
        method: "POST",
        headers: { accept, "content-type": "application/json" },
        body: JSON.stringify({ query }),
      }),
    ];
    const [got, posted] = answers.map(({ status, headers }) => ({
      status,
      type: headers.get("content-type"),
    }));
    expect(posted).toEqual(got);
    return posted;
  };
}

test.each([
  ["application/json;q=0, application/graphql-response+json", NEWER_TYPE],
  ["application/json;q=0.4, application/graphql-response+json; q=0.9", NEWER_TYPE],
  ["application/graphql-response+json;q=0.9, */*;q=0.1", NEWER_TYPE],
  ["application/graphql-response+json;q=0.5, application/json", JSON_TYPE],
  ["application/graphql-response+json, application/json", NEWER_TYPE],
  ['application/json; charset="utf-8"', JSON_TYPE],
])("a caller that accepts %s is sent %s", async (accept, type) => {
  const ask = await start();
  expect(await ask(accept, "{ __typename }")).toEqual({ status: 200, type });
});
