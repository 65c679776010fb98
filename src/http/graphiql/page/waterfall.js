// @ts-check
/* Shows the cost of an operation as a waterfall of its upstream requests. */

/** Number of colors of rounds in page.css. Later rounds start again with the first color. */
const ROUND_COLORS = 6;

const ESTIMATE =
  "Nothing was sent to the service. Assumes that all references exist, that lists have one item, and that nothing is cached.";

/** Distance of the details from their row and from the border of the window, in pixels. */
const MARGIN = 12;

/** The end of the time axis and the step of its marks: a round number, with at most five marks. @param {number} longest */
function axisOf(longest) {
  const power = 10 ** Math.floor(Math.log10(Math.max(longest, 1) / 4));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => each * 5 >= longest) ?? 1;
  const marks = [];
  for (let at = 0; at < longest; at += step) marks.push(at);
  return { end: Math.max(longest, step), marks };
}

/** @param {Event} event */
const rowAt = ({ target }) => (target instanceof Element ? target.closest("li") : null);

/** @param {Element} row */
const isUnfolded = (row) => row.getAttribute("aria-expanded") === "true";

/**
 * Creates the panel. `isOpen`: whether the panel is open at the beginning. `onToggle` is called when the user opens or closes it.
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

  /** The requests that each row shows. @type {WeakMap<Element, { requests: Requests, isPlan: boolean, unfold?: () => void }>} */
  const about = new WeakMap();
  /** The row whose details are shown. @type {Element | null} */
  let described = null;

  /** Places the details beside their row, which scrolls. The details are hidden while the row is out of view. */
  const place = () => {
    const { top = 0, bottom = 0, left = 0 } = described?.getBoundingClientRect() ?? {};
    const seen = body.getBoundingClientRect();
    tooltip.hidden = described === null || bottom <= seen.top || top >= seen.bottom;
    const { height, width } = tooltip.getBoundingClientRect();
    // The details are placed beside the panel, so that the waterfall stays visible. Without room there, they are placed above the row.
    const isBeside = left - width > MARGIN;
    const above = top - height > MARGIN ? top - height - 4 : bottom + 4;
    tooltip.style.left = `${isBeside ? left - width - MARGIN : MARGIN}px`;
    tooltip.style.top = `${isBeside ? Math.min(top, innerHeight - height - MARGIN) : above}px`;
  };

  /** Shows the details of a row, or none. @param {Element | null} row */
  const showDetails = (row) => {
    described?.removeAttribute("aria-describedby");
    described = row;
    const { requests, isPlan = false } = (row && about.get(row)) ?? {};
    if (requests) tooltip.replaceChildren(...detailsOf(requests, isPlan));
    row?.setAttribute("aria-describedby", tooltip.id);
    place();
  };

  const rows = () => [...body.querySelectorAll("li")];

  /** Focuses a row, and makes it the only row that the Tab key reaches. @param {HTMLElement | undefined} row */
  const focus = (row) => {
    if (!row) return;
    for (const each of rows()) each.tabIndex = each === row ? 0 : -1;
    row.focus();
  };

  /** @param {Requests} requests @param {{ isFirst?: boolean, level?: number, end: number, isPlan: boolean }} options */
  const rowOf = (requests, { isFirst = false, level = 1, end, isPlan }) => {
    const [{ method, template, round, startMs }] = requests;
    /** @param {ExplainedRequest} request */
    const endOf = (request) => (request.durationMs === null ? end : request.startMs + request.durationMs);
    const bars = requests.map((request) => {
      const bar = element("span", { class: "bar", "data-state": stateOf(request) });
      bar.style.left = `${(request.startMs / end) * 100}%`;
      bar.style.width = `${((endOf(request) - request.startMs) / end) * 100}%`;
      return bar;
    });
    const time = element("span", { class: "time" }, isPlan ? plannedLabel(requests) : labelOf(requests));
    // The label is placed after the bars. If the bars end at the border, it is placed before them, or on them if they leave no room.
    const last = Math.max(...requests.map(endOf)) / end;
    const isUpon = last > 0.8 && startMs / end < 0.4;
    time.classList.toggle("upon", isUpon);
    if (isUpon) time.style.right = `${(1 - last) * 100}%`;
    else if (last > 0.8) time.style.right = `calc(${(1 - startMs / end) * 100}% + 6px)`;
    else time.style.left = `calc(${last * 100}% + 6px)`;
    const name = `${method === "GET" ? "" : `${method} `}${nameOf(template)}`;
    const isOne = requests.length === 1;
    const row = element(
      "li",
      {
        role: "treeitem",
        tabindex: "-1",
        "aria-level": `${level}`,
        "data-color": `${(round - 1) % ROUND_COLORS}`,
        "data-state": requests.map(stateOf).find((state) => state !== "done") ?? "done",
        ...(!isOne && { "aria-expanded": "false" }),
      },
      element("span", { class: "round" }, isFirst ? `${round}` : ""),
      element("span", { class: "template" }, name),
      element("span", { class: "lane" }, ...bars, time),
    );
    if (isFirst) row.classList.add("first");
    if (!isOne)
      row.querySelector(".template")?.prepend(element("span", { class: "count" }, `${requests.length} × `));
    const parts = isOne ? [] : requests.map((request) => rowOf([request], { level: 2, end, isPlan }));
    const unfold = () => {
      row.setAttribute("aria-expanded", `${!isUnfolded(row)}`);
      if (isUnfolded(row)) row.after(...parts);
      else for (const part of parts) part.remove();
      place();
    };
    about.set(row, { requests, isPlan, ...(!isOne && { unfold }) });
    return row;
  };

  /** @param {Explanation | null} explanation @param {string} note in place of an explanation */
  const show = (explanation, note) => {
    showDetails(null);
    summary.textContent = savings.textContent = "";
    scale.replaceChildren();
    body.replaceChildren();
    if (toggle.getAttribute("aria-expanded") === "false") return;
    if (!explanation) {
      body.append(element("p", {}, note));
      return;
    }
    const { totals, isPlan = false } = explanation;
    const requests = isPlan ? plannedRequests(explanation) : explanation.requests;
    summary.textContent = [
      `${isPlan ? "Estimate: at least " : ""}${counted(totals.requests, "request")}`,
      ...(totals.requests > 0 ? [counted(totals.rounds, "round")] : []),
      ...(totals.requests > 0 && !isPlan ? [inBytes(totals.bytes)] : []),
      ...(isPlan ? [] : [inMs(totals.durationMs)]),
    ].join(" · ");
    summary.title = isPlan ? ESTIMATE : "";
    savings.textContent = isPlan ? "" : savingsOf(explanation);
    if (requests.length === 0) {
      body.append(
        element(
          "p",
          {},
          isPlan ? "It needs no request to the service." : "Nothing was requested from the service.",
        ),
      );
      return;
    }
    const { end, marks } = axisOf(
      Math.max(...requests.map(({ startMs, durationMs }) => startMs + (durationMs ?? 0))),
    );
    const axis = element("div", { class: "axis" });
    for (const at of isPlan ? [] : marks) {
      const mark = element("span", {}, at === 0 ? "0 ms" : `${at}`);
      mark.style.left = `${(at / end) * 100}%`;
      axis.append(mark);
    }
    scale.replaceChildren(element("span", {}, "round"), axis);
    const groups = rowsOf(requests);
    const items = groups.map((group, at) =>
      rowOf(group, { isFirst: groups[at - 1]?.[0]?.round !== group[0]?.round, end, isPlan }),
    );
    body.append(element("ul", { role: "tree", "aria-label": "Requests by round" }, ...items));
    items[0]?.setAttribute("tabindex", "0");
    body.scrollTop = 0;
  };

  body.addEventListener("scroll", place);
  body.addEventListener("pointerover", (event) => showDetails(rowAt(event)));
  body.addEventListener("pointerleave", () => showDetails(body.querySelector("li:focus")));
  body.addEventListener("focusin", (event) => showDetails(rowAt(event)));
  body.addEventListener("focusout", () => showDetails(null));
  body.addEventListener("click", (event) => {
    const row = rowAt(event);
    if (!row) return;
    about.get(row)?.unfold?.();
    focus(row);
  });
  body.addEventListener("keydown", (event) => {
    const all = rows();
    const at = all.findIndex((row) => row === event.target);
    const row = all[at];
    if (!row) return;
    const unfold = about.get(row)?.unfold;
    const parent = all.slice(0, at).findLast((each) => each.ariaLevel === "1");
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => focus(all[at + 1]),
      ArrowUp: () => focus(all[at - 1]),
      Home: () => focus(all[0]),
      End: () => focus(all.at(-1)),
      ArrowRight: () => (isUnfolded(row) ? focus(all[at + 1]) : unfold?.()),
      ArrowLeft: () => (isUnfolded(row) ? unfold?.() : row.ariaLevel === "2" && focus(parent)),
      Enter: () => unfold?.(),
      " ": () => unfold?.(),
      Escape: () => showDetails(null),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]?.();
  });
  toggle.addEventListener("click", () => {
    const opens = toggle.getAttribute("aria-expanded") === "false";
    toggle.setAttribute("aria-expanded", `${opens}`);
    onToggle(opens);
  });
  return { section, show };
}

// explain.js uses this global, because the page's scripts share one scope.
Object.assign(globalThis, { createExplainPanel });
