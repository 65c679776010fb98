import { expect, test } from "vitest";
import { opaque } from "../support/ids.ts";
import { experimentId, FIRST_POLL, startLive } from "../support/live-service.ts";
import type { Subscriber } from "../support/subscriber.ts";

const LOG_APPENDED = `subscription ($id: ID!, $after: String) {
  runLogAppended(id: $id, after: $after) { text startByte endCursor hasMore }
}`;

const LOG = "GET ada/mnist/experiments/1/logs/";
const RUN = "GET ada/mnist/experiments/1/";

/** A running experiment whose log the story writes; null while there is none. A service that is away answers 503. */
async function startLogged(text: string | null) {
  const run = { id: 1, last_status: "running" };
  const log: { text: string | null; isAway: boolean } = { text, isAway: false };
  const live = await startLive([run], {
    answer: ({ path }) => {
      if (log.isAway) return { json: { detail: "restarting" }, status: 503 };
      return path.endsWith("/logs/") && log.text !== null ? { text: log.text } : undefined;
    },
  });
  const follow = (after?: string, id = experimentId(1)) =>
    live.subscribe({ query: LOG_APPENDED, variables: { id, after } });
  return { ...live, run, log, follow };
}

async function textOf(subscriber: Subscriber): Promise<string | null> {
  const told = await subscriber.next();
  const chunk = told?.data?.["runLogAppended"] as { readonly text: string } | undefined;
  expect(told?.errors).toBe(undefined);
  return chunk?.text ?? null;
}

test("a log that is followed to its end equals the file, through outages of the service", async () => {
  const { run, log, follow, advance, reach, requests } = await startLogged("épo");
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
  await reach(2_000, 4_000);
  await requests(5);
  log.isAway = false;
  log.text = "époque 1\népoque 2\n";
  await reach(8_000);
  expect(await read()).toBe("époque 2\n");
  run.last_status = "succeeded";
  // Nothing new: the status is read as well. It is final, so the log is read to its end once more.
  await reach(9_000);
  await requests(8);
  log.text += "last words";
  await reach(10_000);
  expect(await read()).toBe("last words");
  expect(await read()).toBe(null);
  expect(followed).toBe(log.text);
  expect(await requests(9)).toEqual([RUN, LOG, LOG, LOG, LOG, LOG, LOG, RUN, LOG]);
});

test("who follows from a cursor is told only what is behind it, and joins the requests of the others", async () => {
  const { log, follow, advance, reach, requests } = await startLogged("one\ntwo\n");
  const [first, second] = await Promise.all([follow(opaque("byte:4")), follow()]);
  advance(FIRST_POLL);
  expect(await first.next()).toEqual({
    data: {
      runLogAppended: { text: "two\n", startByte: 4, endCursor: opaque("byte:8"), hasMore: false },
    },
  });
  expect(await textOf(second)).toBe("one\ntwo\n");
  log.text += "three\n";
  await reach(1_000);
  expect([await textOf(first), await textOf(second)]).toEqual(["three\n", "three\n"]);
  expect(await requests(4)).toEqual([RUN, LOG, LOG, LOG]);
});

test("a log that is not written yet is waited for, and one of a run that does not exist is an error", async () => {
  const { log, follow, advance, reach, requests } = await startLogged(null);
  const [reader, lost] = await Promise.all([follow(), follow(undefined, experimentId(2))]);
  advance(FIRST_POLL);
  expect(await lost.next()).toMatchObject({
    errors: [{ path: ["runLogAppended"], extensions: { code: "NOT_FOUND" } }],
  });
  expect(await lost.next()).toBe(null);
  await requests(3);
  log.text = "begun\n";
  await reach(2_000);
  expect(await textOf(reader)).toBe("begun\n");
});
