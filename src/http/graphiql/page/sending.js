// @ts-check
/* Sends operations to the gateway, and reads the responses. */

/**
 * @typedef {{ message: string, extensions?: { code?: string } }} ResultError
 * @typedef {{ data?: any, errors?: ResultError[], extensions?: Record<string, any>, hasNext?: boolean }} Result
 * @typedef {{ query: string, variables?: object | null, operationName?: string | null }} Params
 */

const JSON_TYPES = "application/graphql-response+json, application/json";
const EVENT_STREAM = "text/event-stream";

/** Maximum events of a subscription that the page shows. Older events are dropped. */
const MAX_EVENTS = 50;

/**
 * Sends one operation. A header of the tab takes precedence over a header of the page.
 *
 * @param {Params} params @param {string} token
 * @param {{ headers?: Record<string, string>, accept?: string, signal?: AbortSignal }} [options]
 */
async function post(params, token, { headers: given = {}, accept = JSON_TYPES, signal } = {}) {
  const headers = new Headers(given);
  headers.set("content-type", "application/json");
  headers.set("accept", accept);
  if (token !== "" && !headers.has("authorization")) headers.set("authorization", `token ${token}`);
  return fetch("graphql", {
    method: "POST",
    credentials: "omit",
    headers,
    body: JSON.stringify(params),
    ...(signal && { signal }),
  }).catch(() => {
    throw new Error("The gateway cannot be reached: it does not run, or the network is gone.");
  });
}

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** @param {Response} response @returns {Promise<Result>} */
async function resultOf(response) {
  if (/\bjson\b/.test(response.headers.get("content-type") ?? "")) return response.json();
  throw new Error(`Expected JSON from the gateway, got status ${response.status} without it.`);
}

/**
 * Reads the results of an event stream until it ends or is aborted.
 *
 * @param {Response} response @param {AbortSignal} signal @returns {AsyncGenerator<Result>}
 */
async function* resultsOf({ body }, signal) {
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value = "" } = await reader.read().catch(() => {
      if (signal.aborted) return { done: true, value: "" };
      throw new Error("The connection to the gateway broke.");
    });
    if (done) return;
    const frames = (text + value).split("\n\n");
    text = frames.pop() ?? "";
    for (const frame of frames) {
      const [, data] = /^data: (.+)$/m.exec(frame) ?? [];
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}

/** The time of day, by the clock of the reader: `14:02:07.120`. */
function timeOfDay() {
  const now = new Date();
  const parts = [now.getHours(), now.getMinutes(), now.getSeconds()];
  const clock = parts.map((part) => `${part}`.padStart(2, "0")).join(":");
  return `${clock}.${`${now.getMilliseconds()}`.padStart(3, "0")}`;
}

/**
 * Logs the events of a subscription: the newest event first, each with its time. At the end, adds the time and the reason of the end.
 *
 * @param {AsyncIterable<Result>} results @param {AbortSignal} signal
 */
async function* logOf(results, signal) {
  /** @type {(Result & { at: string })[]} */
  const events = [];
  /** @type {{ error?: string }} */
  const ending = {};
  try {
    for await (const result of results) {
      events.unshift({ at: timeOfDay(), ...result });
      events.splice(MAX_EVENTS);
      yield { events };
    }
  } catch (error) {
    ending.error = messageOf(error);
  }
  if (!signal.aborted) yield { endedAt: timeOfDay(), ...ending, events };
}

/** @param {unknown} error @returns {IteratorResult<Result>} */
const asResult = (error) => ({ done: false, value: { errors: [{ message: messageOf(error) }] } });

/**
 * The results of a stream, as the page shows them. The payloads of one result have `hasNext`, but the events of a subscription do not.
 *
 * @param {AsyncGenerator<Result>} results @param {AbortSignal} signal @param {(result: Result) => Result} take
 */
async function* shownOf(results, signal, take) {
  const { done, value } = await results.next().catch(asResult);
  /** @returns {AsyncGenerator<Result>} */
  const all = async function* () {
    if (!done) yield value;
    yield* results;
  };
  if (!done && value.hasNext !== undefined) {
    for await (const answer of answersOf(all())) yield take(answer);
    return;
  }
  const taken = async function* () {
    for await (const event of all()) yield take(event);
  };
  yield* logOf(taken(), signal);
}

/**
 * Sends an operation of a tab. Returns a single result, or an iterator of results to show one after the other. GraphiQL ends the iterator
 * by calling `return`.
 *
 * @param {Params} params @param {string} token @param {Record<string, string>} headers
 * @param {(result: Result) => Result} take
 */
async function sendOfTab(params, token, headers, take) {
  const controller = new AbortController();
  const { signal } = controller;
  try {
    const response = await post(params, token, { headers, accept: `${JSON_TYPES}, ${EVENT_STREAM}`, signal });
    if (!response.headers.get("content-type")?.startsWith(EVENT_STREAM))
      return take(await resultOf(response));
    const shown = shownOf(resultsOf(response, signal), signal, take);
    const iterator = {
      next: () => shown.next(),
      return: () => {
        controller.abort();
        return shown.return(undefined);
      },
    };
    return { [Symbol.asyncIterator]: () => iterator };
  } catch (error) {
    // The error is returned as a result, because GraphiQL would show the stack of a thrown error.
    return take({ errors: [{ message: messageOf(error) }] });
  }
}

// page.js uses this global, because the page's scripts share one scope.
Object.assign(globalThis, { messageOf, post, resultOf, sendOfTab });
