// @ts-check
/* The picture of what an operation cost: a waterfall of its upstream requests. */

/**
 * @typedef {{
 *   method: string, template: string, attempt: number, status: number | null, error: string | null,
 *   round: number, startMs: number, waitedMs: number, durationMs: number | null, bytes: number, reads: number,
 *   fields: string[], moreFields: number,
 * }} ExplainedRequest
 * @typedef {{
 *   requests: ExplainedRequest[],
 *   reads: Record<string, number>,
 *   free: { links: number },
 *   totals: { requests: number, rounds: number, bytes: number, durationMs: number, withoutRungraph: number },
 * }} Explanation
 */

/** Number of colors of rounds in page.css. Later rounds begin again with the first. */
const ROUND_COLORS = 6;

/** Distance of the details from what they are about and from the border of the window, in pixels. */
const MARGIN = 12;

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

/** The part of a template that tells one from another: without the parameters that most begin with. @param {string} template */
const nameOf = (template) => template.replace(/^(\{\w+\}\/)+(?=.)/, "");

/** @param {ExplainedRequest} request */
function outcomeOf({ status, error, durationMs }) {
  if (durationMs === null) return "not needed, cancelled";
  return [status, error].filter((part) => part !== null).join(" ");
}

/** The end of the time axis and its marks: a round step, at most five of them. @param {number} longest */
function axisOf(longest) {
  const power = 10 ** Math.floor(Math.log10(Math.max(longest, 1) / 4));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => each * 5 >= longest) ?? 1;
  const marks = [];
  for (let at = 0; at < longest; at += step) marks.push(at);
  return { end: Math.max(longest, step), marks };
}

/** @param {ExplainedRequest} request */
function detailsOf(request) {
  const {
    method,
    template,
    round,
    attempt,
    startMs,
    waitedMs,
    durationMs,
    bytes,
    reads,
    fields,
    moreFields,
  } = request;
  const facts = [
    outcomeOf(request),
    durationMs === null ? `from ${inMs(startMs)}` : `${inMs(durationMs)} from ${inMs(startMs)}`,
    ...(waitedMs >= 1 ? [`waited ${inMs(waitedMs)}`] : []),
    inBytes(bytes),
    `round ${round}`,
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
  ];
  const count = fields.length + moreFields;
  const batch = reads > 1 ? `One list instead of ${counted(reads, "request")}, for ` : "For ";
  return [
    element("strong", {}, `${method} ${template}`),
    element("span", {}, facts.join(" · ")),
    ...(count === 0
      ? []
      : [
          element("span", { class: "why" }, `${batch}${counted(count, "field")}:`),
          element("ul", {}, ...fields.map((field) => element("li", {}, field))),
        ]),
    ...(moreFields > 0 ? [element("span", {}, `and ${moreFields} more`)] : []),
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

/**
 * Creates the panel. `isOpen` tells whether the page asks what operations cost; `onToggle` is told when that changes.
 *
 * @param {{ isOpen: boolean, onToggle: (isOpen: boolean) => void }} options
 */
function createExplainPanel({ isOpen, onToggle }) {
  const summary = element("span", { class: "summary" });
  const savings = element("span", { class: "savings", title: SAVINGS });
  const toggle = element("button", { type: "button", "aria-expanded": `${isOpen}` }, "Upstream requests");
  const scale = element("div", { class: "axis-row", "aria-hidden": "true" });
  const body = element("div", { class: "body" });
  const tooltip = element("div", {
    class: "explain-tooltip",
    role: "tooltip",
    id: "explain-tooltip",
    hidden: "",
  });
  const section = element(
    "section",
    { class: "explain", "aria-label": "Upstream requests" },
    element("div", { class: "head" }, toggle, summary, savings),
    scale,
    body,
    tooltip,
  );

  const hideDetails = () => {
    tooltip.hidden = true;
    for (const row of body.querySelectorAll("[aria-describedby]")) row.removeAttribute("aria-describedby");
  };

  /** @param {HTMLElement} row @param {ExplainedRequest} request */
  const showDetails = (row, request) => {
    hideDetails();
    tooltip.replaceChildren(...detailsOf(request));
    tooltip.hidden = false;
    row.setAttribute("aria-describedby", tooltip.id);
    const { top, bottom, left } = row.getBoundingClientRect();
    const { height, width } = tooltip.getBoundingClientRect();
    // Beside the panel, so that the picture stays visible, or above the row where there is no room.
    const isBeside = left - width > MARGIN;
    const above = top - height > MARGIN ? top - height - 4 : bottom + 4;
    tooltip.style.left = `${isBeside ? left - width - MARGIN : MARGIN}px`;
    tooltip.style.top = `${isBeside ? Math.min(top, innerHeight - height - MARGIN) : above}px`;
  };

  /** @param {ExplainedRequest} request @param {boolean} isFirst @param {number} end */
  const rowOf = (request, isFirst, end) => {
    const { method, template, round, startMs, durationMs, error } = request;
    const length = (durationMs ?? end - startMs) / end;
    const bar = element("span", { class: "bar" });
    bar.style.left = `${(startMs / end) * 100}%`;
    bar.style.width = `${length * 100}%`;
    const time = element("span", { class: "time" }, durationMs === null ? "–" : inMs(durationMs));
    // Behind its bar, or before one that ends at the border.
    const isLate = startMs / end + length > 0.8;
    if (isLate) time.style.right = `calc(${(1 - startMs / end) * 100}% + 6px)`;
    else time.style.left = `calc(${(startMs / end + length) * 100}% + 6px)`;
    const row = element(
      "li",
      {
        tabindex: "0",
        "data-color": `${(round - 1) % ROUND_COLORS}`,
        "data-state": durationMs === null ? "cancelled" : error === null ? "done" : "failed",
        "aria-label": `${method} ${template}, ${outcomeOf(request)}, round ${round}`,
      },
      element("span", { class: "round" }, isFirst ? `${round}` : ""),
      element(
        "span",
        { class: "template" },
        method === "GET" ? nameOf(template) : `${method} ${nameOf(template)}`,
      ),
      element("span", { class: "lane" }, bar, time),
    );
    if (isFirst) row.classList.add("first");
    row.addEventListener("pointerenter", () => showDetails(row, request));
    row.addEventListener("focus", () => showDetails(row, request));
    row.addEventListener("pointerleave", hideDetails);
    row.addEventListener("blur", hideDetails);
    return row;
  };

  /** @param {Explanation | null} explanation */
  const show = (explanation) => {
    hideDetails();
    summary.textContent = savings.textContent = "";
    scale.replaceChildren();
    body.replaceChildren();
    if (toggle.getAttribute("aria-expanded") === "false") return;
    if (!explanation) {
      body.append(element("p", {}, "Execute a query or mutation to see which requests it causes."));
      return;
    }
    const { totals, requests } = explanation;
    summary.textContent = [
      counted(totals.requests, "request"),
      ...(totals.requests > 0 ? [counted(totals.rounds, "round"), inBytes(totals.bytes)] : []),
      inMs(totals.durationMs),
    ].join(" · ");
    savings.textContent = savingsOf(explanation);
    if (requests.length === 0) {
      body.append(element("p", {}, "Nothing was asked of the service."));
      return;
    }
    const { end, marks } = axisOf(
      Math.max(...requests.map(({ startMs, durationMs }) => startMs + (durationMs ?? 0))),
    );
    const axis = element("div", { class: "axis" });
    for (const at of marks) {
      const mark = element("span", {}, at === 0 ? "0 ms" : `${at}`);
      mark.style.left = `${(at / end) * 100}%`;
      axis.append(mark);
    }
    scale.replaceChildren(element("span", {}, "round"), axis);
    const sorted = requests.toSorted((one, other) => one.round - other.round || one.startMs - other.startMs);
    body.append(
      element(
        "ol",
        {},
        ...sorted.map((request, index) => rowOf(request, sorted[index - 1]?.round !== request.round, end)),
      ),
    );
    body.scrollTop = 0;
  };

  body.addEventListener("scroll", hideDetails);
  toggle.addEventListener("click", () => {
    const opens = toggle.getAttribute("aria-expanded") === "false";
    toggle.setAttribute("aria-expanded", `${opens}`);
    onToggle(opens);
  });
  return { section, show };
}

// For explain.js: scripts share what is global.
Object.assign(globalThis, { createExplainPanel });
