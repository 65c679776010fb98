import { expect, test } from "vitest";
import { opaque } from "../support/ids.ts";
import { experimentId, FIRST_POLL, startLive } from "../support/live-service.ts";
import { chunked } from "../support/logs.ts";
import type { Subscriber } from "../support/subscriber.ts";

const LOG_APPENDED = `subscription ($id: ID!, $after: String) {
  runLogAppended(id: $id, after: $after) { text startByte endCursor hasMore isRestarted }
}`;

const LOG = "GET ada/mnist/experiments/1/logs/";
const RUN = "GET ada/mnist/experiments/1/";

/**
 * Starts a service with a running experiment. The test writes its log, which is null if there is no log yet. When the service is away, it
 * responds with 503.
 */
async function startLogged(text: string | null) {
  const run = { id: 1, last_status: "running" };
  const log = { text, isAway: false, lastWords: "", hasLength: true };
  const live = await startLive([run], {
    answer: ({ path }) => {
      if (log.isAway) return { json: { detail: "restarting" }, status: 503 };
      if (path.endsWith("/logs/") && log.text !== null)
        return log.hasLength ? { text: log.text } : chunked(log.text);
      // These lines are written between the end of the run and the read that reports it.
      if (run.last_status === "succeeded" && !path.endsWith("/logs/")) {
        log.text += log.lastWords;
        log.lastWords = "";
      }
      return undefined;
    },
  });
  const follow = (after?: string, id = experimentId(1)) =>
    live.subscribe({ query: LOG_APPENDED, variables: { id, after } });
  return { ...live, run, log, follow };
}

async function textOf(subscriber: Subscriber): Promise<string | null> {
  const reported = await subscriber.next();
  const chunk = reported?.data?.["runLogAppended"] as { readonly text: string } | undefined;
  expect(reported?.errors).toBe(undefined);
  return chunk?.text ?? null;
}

test("following a log to its end returns the whole file despite outages", async () => {
  const { run, log, follow, advance, settle, requests, ...live } = await startLogged("épo");
  const reach = async (time: number) => {
    await settle();
    await live.reach(time);
  };
  const reader = await follow();
  let followed = "";
  const read = async () => {
    const text = await textOf(reader);
    followed += text ?? "";
    return text;
  };
  advance(FIRST_POLL);
  expect(await read()).toBe("épo");
  log.text = "époque 1\n";
  await reach(1_000);
  expect(await read()).toBe("que 1\n");
  log.isAway = true;
  await reach(2_000);
  await reach(4_000);
  await settle();
  log.isAway = false;
  log.text = "époque 1\népoque 2\n";
  await reach(8_000);
  expect(await read()).toBe("époque 2\n");
  run.last_status = "succeeded";
  log.lastWords = "last words";
  await reach(9_000);
  await reach(10_000);
  expect(await read()).toBe("last words");
  expect(await read()).toBe(null);
  expect(followed).toBe(log.text);
  const calls = await requests(14);
  expect([RUN, LOG].map((call) => calls.filter((each) => each === call).length)).toEqual([6, 8]);
});

test("following from a cursor returns later bytes, and shares requests with others", async () => {
  const { log, follow, advance, reach, requests } = await startLogged("one\ntwo\n");
  const [first, second] = await Promise.all([follow(opaque("byte:4")), follow()]);
  advance(FIRST_POLL);
  expect(await first.next()).toEqual({
    data: {
      runLogAppended: {
        text: "two\n",
        startByte: 4,
        endCursor: opaque("byte:8"),
        hasMore: false,
        isRestarted: false,
      },
    },
  });
  expect(await textOf(second)).toBe("one\ntwo\n");
  log.text += "three\n";
  await reach(1_000);
  expect([await textOf(first), await textOf(second)]).toEqual(["three\n", "three\n"]);
  expect((await requests(5)).toSorted()).toEqual([RUN, RUN, LOG, LOG, LOG]);
});

test("waits for a missing log, but fails for a missing run", async () => {
  const { log, follow, advance, reach, requests } = await startLogged(null);
  const [reader, lost] = await Promise.all([follow(), follow(undefined, experimentId(2))]);
  advance(FIRST_POLL);
  expect(await lost.next()).toMatchObject({
    errors: [{ path: ["runLogAppended"], extensions: { code: "NOT_FOUND" } }],
  });
  expect(await lost.next()).toBe(null);
  await requests(3);
  log.text = "begun\n";
  await reach(1_000, 2_000);
  const chunk = { text: "begun\n", startByte: 0, isRestarted: false };
  expect(await reader.next()).toMatchObject({ data: { runLogAppended: chunk } });
});

test("follows a log even while reading its run fails", async () => {
  let text = "one\n";
  const { subscribe, advance, settle } = await startLive([], {
    answer: ({ path }) => (path.endsWith("/logs/") ? { text } : { status: 507, json: { detail: "no" } }),
  });
  const reader = await subscribe({ query: LOG_APPENDED, variables: { id: experimentId(1) } });
  advance(FIRST_POLL);
  expect(await textOf(reader)).toBe("one\n");
  for (let seconds = 0; seconds < 62; seconds++) {
    advance(1_000);
    await settle();
  }
  expect(await reader.next()).toMatchObject({
    data: null,
    errors: [{ extensions: { code: "UPSTREAM_ERROR" } }],
  });
  text += "two\n";
  advance(5_000);
  expect(await textOf(reader)).toBe("two\n");
});

test("an outage of a run and its log is reported once", async () => {
  const { log, follow, advance, settle } = await startLogged("one\n");
  const reader = await follow();
  advance(FIRST_POLL);
  expect(await textOf(reader)).toBe("one\n");
  log.isAway = true;
  for (let seconds = 0; seconds < 90; seconds++) {
    advance(1_000);
    await settle();
  }
  log.isAway = false;
  log.text = "one\ntwo\n";
  for (let seconds = 0; seconds < 15; seconds++) {
    advance(1_000);
    await settle();
  }
  expect(await reader.next()).toMatchObject({ errors: [{ extensions: { code: "UPSTREAM_UNAVAILABLE" } }] });
  expect(await textOf(reader)).toBe("two\n");
});

test.each([
  ["whose length is known", true, "2\n", "two\n"],
  ["whose length is unknown", false, "2\n", "two\n"],
  ["that is empty at first", true, "", "two\n"],
])("after a restart, a log %s is reported from its first byte", async (_, hasLength, text, later) => {
  const { log, follow, advance, reach } = await startLogged("one\none\n");
  log.hasLength = hasLength;
  const reader = await follow();
  const chunk = async () => (await reader.next())?.data?.["runLogAppended"];
  const isFirst = { startByte: 0, hasMore: false };
  advance(FIRST_POLL);
  expect(await chunk()).toEqual({
    text: "one\none\n",
    ...isFirst,
    endCursor: opaque("byte:8"),
    isRestarted: false,
  });
  log.text = text;
  await reach(1_000);
  const end = opaque(`byte:${text.length}`);
  expect(await chunk()).toEqual({ text, ...isFirst, endCursor: end, isRestarted: true });
  log.text += later;
  await reach(2_000);
  const whole = { startByte: text.length, endCursor: opaque(`byte:${text.length + later.length}`) };
  expect(await chunk()).toEqual({ text: later, hasMore: false, isRestarted: false, ...whole });
});

test("a log that reappears is reported from its first byte", async () => {
  const { log, follow, advance, reach, settle } = await startLogged("one\n");
  const reader = await follow();
  const chunk = async () => (await reader.next())?.data?.["runLogAppended"];
  advance(FIRST_POLL);
  expect(await chunk()).toMatchObject({ text: "one\n", isRestarted: false });
  log.text = null;
  await reach(1_000);
  await settle();
  log.text = "one of another container\n";
  await reach(2_000);
  expect(await chunk()).toEqual({
    text: "one of another container\n",
    startByte: 0,
    endCursor: opaque("byte:25"),
    hasMore: false,
    isRestarted: true,
  });
});
