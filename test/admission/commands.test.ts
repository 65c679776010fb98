import { expect, test } from "vitest";
import { fakeClock } from "../support/fake-clock.ts";
import { startGateway } from "../support/gateway.ts";
import { upTo } from "../support/one-read.ts";
import { startDelayed } from "../support/delayed-service.ts";
import { startThrottling } from "../support/throttling.ts";

interface Bookmarked {
  readonly bookmarkRuns: { readonly results: readonly { readonly outcome: string }[] };
}

const bookmark = (count: number, isBookmarked: boolean) => ({
  query: `mutation ($ids: [ID!]!) { bookmarkRuns(ids: $ids, isBookmarked: ${isBookmarked}) { results { outcome } } }`,
  variables: { ids: upTo(count).map((id) => `ada.mnist.experiments.${id}`) },
});

test("sends no command that the service's rate limit would certainly reject", async () => {
  const { clock, advance } = fakeClock();
  const service = await startThrottling(120, clock.now);
  const gateway = await startGateway({ upstream: service, clock, env: { UPSTREAM_RATE_LIMIT: "120/60" } });
  const send = async (count: number, isBookmarked: boolean) => {
    const { query, variables } = bookmark(count, isBookmarked);
    const { data, errors } = await gateway.ask<Bookmarked, unknown>(query, variables);
    expect(errors).toBeUndefined();
    return data.bookmarkRuns.results.map(({ outcome }) => outcome);
  };
  expect(await send(100, true)).toEqual(Array(100).fill("DONE"));
  advance(20_000);
  expect(await send(100, false)).toEqual([...Array(20).fill("DONE"), ...Array(80).fill("NOT_SENT")]);
  expect([service.seen().length, service.refused()]).toEqual([120, 0]);
  // The error of a single command contains the time of the next attempt.
  const { errors } = await gateway.ask(
    `mutation { stopExperiment(id: "ada.mnist.1", force: true) { outcome } }`,
  );
  expect(errors?.[0]?.extensions).toMatchObject({ code: "RATE_LIMITED", retryAfterSeconds: 40 });
  expect(service.seen()).toHaveLength(120);
  advance(40_000);
  expect(await send(100, false)).toEqual(Array(100).fill("DONE"));
});

test("sends no further command of a mutation field after one times out", async () => {
  const { url, pending } = await startDelayed();
  const gateway = await startGateway({
    upstream: { url },
    env: { UPSTREAM_CONNECTIONS_PER_TOKEN: "2", UPSTREAM_HEADERS_TIMEOUT_MS: "200" },
  });
  const { query, variables } = bookmark(6, true);
  const { data } = await gateway.ask<Bookmarked, unknown>(query, variables);
  expect(data.bookmarkRuns.results.map(({ outcome }) => outcome)).toEqual([
    "UNKNOWN",
    "UNKNOWN",
    ...Array(4).fill("NOT_SENT"),
  ]);
  expect(pending).toHaveLength(2);
});

test("sends the next mutation field's command although an earlier command timed out", async () => {
  const { url, pending } = await startDelayed();
  const gateway = await startGateway({ upstream: { url }, env: { UPSTREAM_HEADERS_TIMEOUT_MS: "200" } });
  const stop = (id: number) => `s${id}: stopExperiment(id: "ada.mnist.${id}", force: true) { outcome }`;
  const { errors } = await gateway.ask(`mutation { ${stop(1)} ${stop(2)} }`);
  expect(errors?.map(({ extensions }) => [extensions["code"], extensions["outcome"]])).toEqual(
    [1, 2].map(() => ["UPSTREAM_TIMEOUT", "unknown"]),
  );
  expect(pending).toHaveLength(2);
});
