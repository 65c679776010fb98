// @ts-check
/* Sends operations to the gateway, and reads what it answers. */

/**
 * @typedef {{ message: string, extensions?: { code?: string } }} ResultError
 * @typedef {{ data?: any, errors?: ResultError[], extensions?: Record<string, any> }} Result
 * @typedef {{ query: string, variables?: object | null, operationName?: string | null }} Params
 */

const JSON_TYPES = "application/graphql-response+json, application/json";
const EVENT_STREAM = "text/event-stream";

/** Of how many events of a subscription the page shows the last ones. */
const MAX_EVENTS = 50;

/**
 * Sends one operation. A header of the tab goes before that of the page.
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
  });
}

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
    const { done, value = "" } = await reader.read().catch((fault) => {
      if (signal.aborted) return { done: true, value: "" };
      throw fault;
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
 * Shows the results of a subscription as a log, the newest first, each with its time, and when the gateway ended it.
 *
 * @param {AsyncGenerator<Result>} results @param {() => void} abort
 */
function logOf(results, abort) {
  /** @type {(Result & { at: string })[]} */
  const events = [];
  let hasEnded = false;
  const iterator = {
    next: async () => {
      const { done, value } = await results.next();
      if (done && hasEnded) return { done, value };
      hasEnded = done === true;
      if (hasEnded) return { done: false, value: { endedAt: timeOfDay(), events } };
      events.unshift({ at: timeOfDay(), ...value });
      events.splice(MAX_EVENTS);
      return { done: false, value: { events } };
    },
    return: () => {
      hasEnded = true;
      abort();
      return results.return(undefined);
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/**
 * Sends an operation of a tab. Gives a single result, or a log of results that GraphiQL ends by `return`.
 *
 * @param {Params} params @param {string} token @param {Record<string, string>} headers
 * @param {(result: Result) => Result} take
 */
async function sendOfTab(params, token, headers, take) {
  const controller = new AbortController();
  const { signal } = controller;
  const response = await post(params, token, { headers, accept: `${JSON_TYPES}, ${EVENT_STREAM}`, signal });
  return response.headers.get("content-type")?.startsWith(EVENT_STREAM)
    ? logOf(resultsOf(response, signal), () => controller.abort())
    : take(await resultOf(response));
}

// For page.js: scripts share what is global.
Object.assign(globalThis, { post, resultOf, sendOfTab });
