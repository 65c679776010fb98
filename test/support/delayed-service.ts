import type { ServerResponse } from "node:http";
import { vi } from "vitest";
import { listen } from "./listen.ts";
import { experimentIn, RUNNING_RECORD } from "./one-read.ts";
import { LONG_TIMEOUT } from "./long-timeout.ts";

/** Starts a service that leaves all responses to the test. */
export async function startDelayed() {
  const pending: ServerResponse[] = [];
  const url = await listen((_, response) => void pending.push(response));
  return { url, pending };
}

/** Starts a service with experiments that delays each response until the test releases it. */
export async function startDelayedRecords() {
  const pending: { readonly token: string; readonly id: number; readonly response: ServerResponse }[] = [];
  /** The tokens of all requests so far, in the order of arrival. */
  const seen: string[] = [];
  const url = await listen((request, response) => {
    const token = `${request.headers.authorization}`.replace("token ", "");
    seen.push(token);
    pending.push({ token, id: experimentIn(request.url), response });
  });
  const release = (count = pending.length) => {
    for (const { id, response } of pending.splice(0, count)) {
      response.setHeader("content-type", "application/json").end(JSON.stringify({ ...RUNNING_RECORD, id }));
    }
  };
  return {
    url,
    seen: () => seen,
    count: () => pending.length,
    arrived: (count: number) => vi.waitUntil(() => pending.length >= count, LONG_TIMEOUT),
    release,
    /** Responds to all requests until these promises have resolved. */
    releaseUntil: async <Value>(all: readonly Promise<Value>[]): Promise<Value[]> => {
      const timer = setInterval(release, 1);
      return Promise.all(all).finally(() => clearInterval(timer));
    },
  };
}
