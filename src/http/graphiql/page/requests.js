// @ts-check
/* Groups the upstream requests of an operation into rows, and describes each row in words. */

/**
 * @typedef {{
 *   method: string, template: string, attempt: number, status: number | null, error: string | null,
 *   round: number, startMs: number, waitedMs: number, waitedFor: string | null, durationMs: number | null, bytes: number, reads: number,
 *   fields: string[], moreFields: number,
 * }} ExplainedRequest
 * @typedef {[ExplainedRequest, ...ExplainedRequest[]]} Requests of one row
 * @typedef {{
 *   requests: ExplainedRequest[],
 *   isPlan?: boolean,
 *   reads: Record<string, number>,
 *   free: { links: number },
 *   totals: { requests: number, rounds: number, bytes: number, durationMs: number, withoutRungraph: number },
 * }} Explanation
 */

/** @param {string} tag @param {Record<string, string>} [attributes] @param {(Node | string)[]} children */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** @param {number} count @param {string} noun */
const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** @param {number} ms */
const inMs = (ms) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;

/** @param {number} bytes */
const inBytes = (bytes) => {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
};

/** A template without the parameters at its start. @param {string} template */
const nameOf = (template) => template.replace(/^(\{\w+\}\/)+(?=.)/, "");

/** Above this number of requests, all requests of one route in one round are shown as one row. */
const MANY = 12;

/** Maximum fields that the details of a row name. */
const MAX_FIELDS = 6;

/** The requests of each row, by round and time. @param {ExplainedRequest[]} requests */
function rowsOf(requests) {
  /** @type {Map<unknown, Requests>} */
  const rows = new Map();
  for (const request of requests.toSorted(
    (one, other) => one.round - other.round || one.startMs - other.startMs,
  )) {
    const { round, method, template } = request;
    const key = requests.length > MANY ? `${round} ${method} ${template}` : request;
    const present = rows.get(key);
    if (present) present.push(request);
    else rows.set(key, [request]);
  }
  return [...rows.values()];
}

/** @param {ExplainedRequest} request */
const stateOf = ({ durationMs, error }) =>
  durationMs === null ? "cancelled" : error === null ? "done" : "failed";

/** @param {Requests} requests */
function outcomeOf(requests) {
  const [{ status, error, durationMs }] = requests;
  const failed = requests.filter((request) => stateOf(request) === "failed").length;
  if (requests.length > 1) return failed > 0 ? `${failed} failed` : counted(requests.length, "request");
  if (durationMs === null) return "not needed, cancelled";
  return [status, error].filter((part) => part !== null).join(" ");
}

/** The duration of requests: `221 ms`, or from the shortest to the longest; null if no request has ended. @param {Requests} requests */
function timeOf(requests) {
  const times = requests.flatMap(({ durationMs }) => durationMs ?? []);
  if (times.length === 0) return null;
  const [shortest, longest] = [Math.min(...times), Math.max(...times)].map(inMs);
  return shortest === longest ? longest : `${shortest?.replace(" ms", "")}–${longest}`;
}

/** Whether requests are repeated for each item of a list: the paths of their fields contain an index. @param {Requests} requests */
const isForEach = (requests) =>
  requests.some(({ fields }) => fields.some((field) => /\.\d+(\.|$)/.test(field)));

/** The requests of a plan. Each round takes one unit of time. @param {Explanation} explanation */
const plannedRequests = ({ requests }) =>
  requests.map((request) => ({ ...request, startMs: request.round - 1, durationMs: 1, waitedMs: 0 }));

/** @param {Requests} requests */
const plannedLabel = (requests) => (isForEach(requests) ? "at most one per item" : "");

/** The label beside the bars: the duration, and the errors. @param {Requests} requests */
function labelOf(requests) {
  const hasFailed = requests.some((request) => stateOf(request) === "failed");
  return [timeOf(requests) ?? "–", ...(hasFailed ? [outcomeOf(requests)] : [])].join(" · ");
}

/** @param {number[]} numbers */
const sumOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/** @type {Readonly<Record<string, string>>} */
const REASONS = {
  RATE_LIMIT: " for the rate limit of the token",
  CONCURRENCY: " for other requests",
  CIRCUIT: " for a probe of the service",
};

/** @param {Requests} requests @param {boolean} isPlan */
function detailsOf(requests, isPlan) {
  const [{ method, template, round, attempt, startMs, waitedMs, waitedFor, reads }] = requests;
  const time = timeOf(requests);
  const isOne = requests.length === 1;
  const measured = [
    outcomeOf(requests),
    `${time === null ? "" : `${time} `}from ${inMs(startMs)}`,
    ...(isOne && waitedMs >= 1 ? [`waited ${inMs(waitedMs)}${REASONS[`${waitedFor}`] ?? ""}`] : []),
    inBytes(sumOf(requests.map(({ bytes }) => bytes))),
    `round ${round}`,
    ...(isOne && attempt > 1 ? [`attempt ${attempt}`] : []),
  ];
  const details = isPlan ? [`round ${round}`, plannedLabel(requests)].filter(Boolean) : measured;
  const fields = requests.flatMap((request) => request.fields).slice(0, isOne ? Infinity : MAX_FIELDS);
  const count = sumOf(requests.map((request) => request.fields.length + request.moreFields));
  const batch = isOne && reads > 1 ? `One list instead of ${counted(reads, "request")}, for ` : "For ";
  return [
    element("strong", {}, `${method} ${template}`),
    element("span", {}, details.join(" · ")),
    ...(count === 0
      ? []
      : [
          element("span", { class: "why" }, `${batch}${counted(count, "field")}:`),
          element("ul", {}, ...fields.map((field) => element("li", {}, field))),
        ]),
    ...(count > fields.length ? [element("span", {}, `and ${count - fields.length} more`)] : []),
  ];
}

const SAVINGS = [
  "shared: another field needed the response before",
  "batched: one list was requested for several records",
  "joined: another operation requested it at the same time",
  "cached: it was kept from before",
  "free: links whose selected fields are part of the reference",
  "without Rungraph: requests of a client that follows each reference",
].join("\n");

/** @param {Explanation} explanation */
function savingsOf({ reads, free, totals }) {
  const parts = [
    [reads["shared"], "shared"],
    [reads["batch"], "batched"],
    [reads["joined"], "joined"],
    [reads["cache"], "cached"],
    [free.links, "free"],
  ].filter(([count]) => count);
  const savings = parts.map(([count, what]) => `${count} ${what}`);
  if (totals.withoutRungraph > totals.requests) savings.push(`${totals.withoutRungraph} without Rungraph`);
  return savings.join(" · ");
}

// waterfall.js uses this global, because the page's scripts share one scope.
Object.assign(globalThis, {
  SAVINGS,
  counted,
  detailsOf,
  element,
  inBytes,
  inMs,
  labelOf,
  nameOf,
  plannedLabel,
  plannedRequests,
  rowsOf,
  savingsOf,
  stateOf,
});
