// @ts-check
/*
 * Shows the cost of an operation below the result of GraphiQL: an estimate while the operation is edited, and the measured cost after it
 * has run.
 */

const CHOSEN_TAB = ".graphiql-tab-active";

/** Time after the last change of an operation before its cost is estimated, in milliseconds. */
const PAUSE_MS = 500;

/** Shown in place of a cost. */
const NOT_RUN = "Execute a query or mutation to see which requests it causes.";
const RUNNING = "Waiting for the answer…";
const SUBSCRIPTION =
  "The requests of a subscription are not listed: the gateway polls the service, once for all subscriptions to the same run or list.";

const textOfTab = () => JSON.stringify(written());

/**
 * The operation in the editors: its parameters, null if it cannot be planned, and what is shown without its cost.
 *
 * @param {Pick<Storage, "getItem">} storage @returns {{ params: Params | null, note: string }}
 */
function plannable(storage) {
  const operation = written();
  try {
    const { isStream, ...params } = sentOf(operation, chosenIn(storage));
    if (isStream) return { params: null, note: SUBSCRIPTION };
    return { params: takesSecret(operation.query) ? null : params, note: NOT_RUN };
  } catch {
    return { params: null, note: NOT_RUN };
  }
}

/**
 * Shows the cost below each result of GraphiQL. While the panel is folded, no cost is requested.
 *
 * @param {Element} root of GraphiQL
 * @param {Pick<Storage, "getItem" | "setItem" | "removeItem">} storage
 * @param {(params: Params) => Promise<Result>} plan requests an estimate
 */
function explainAnswers(root, storage, plan) {
  const folded = "explain:folded";
  let isOpen = storage.getItem(folded) === null;
  /** The cost that each tab shows, or a note, with the text of its operation. @type {WeakMap<Element, { text: string, cost: Explanation | null, note: string }>} */
  const costs = new WeakMap();
  /** @type {Element | null} */
  let tab = null;
  const show = () => {
    const { cost = null, note = NOT_RUN } = (tab && costs.get(tab)) ?? {};
    panel.show(cost, note);
  };
  const panel = createExplainPanel({
    isOpen,
    onToggle: (opens) => {
      isOpen = opens;
      if (opens) storage.removeItem(folded);
      else storage.setItem(folded, "yes");
      show();
      planSoon();
    },
  });
  show();

  /** Estimates the cost of the operation in the editors, unless its cost is already shown. */
  const planNow = async () => {
    const [planned, text] = [tab, textOfTab()];
    const { params, note } = plannable(storage);
    const isShown = () => planned !== null && costs.get(planned)?.text === text;
    if (!isOpen || !planned || isShown()) return;
    const result = params && (await plan(params).catch(() => null));
    // The operation was edited, or has run, in the meantime.
    if (tab !== planned || textOfTab() !== text || isShown()) return;
    // The result of an invalid operation has no data. With an invalid argument, an operation may have errors in place of its requests.
    const estimate = result?.data === undefined ? null : result.extensions?.["explain"];
    const explain = result?.errors && estimate?.totals.requests === 0 ? null : estimate;
    costs.set(planned, { text, cost: explain ? { ...explain, isPlan: true } : null, note });
    show();
  };
  let timer = 0;
  const planSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(planNow, PAUSE_MS);
  };

  // The panel is attached to the page, because GraphiQL has no slot for it: plugins are shown far from the result, and a second plugin
  // would replace the explorer.
  const attach = () => {
    const response = root.querySelector(".graphiql-response");
    if (response && !response.contains(panel.section)) response.append(panel.section);
    const chosen = root.querySelector(CHOSEN_TAB);
    if (chosen === tab) return;
    tab = chosen;
    show();
    planSoon();
  };
  new MutationObserver(attach).observe(root, {
    attributeFilter: ["class"],
    childList: true,
    subtree: true,
  });

  /**
   * Begins an operation of the chosen tab. Returns the headers that request the cost, and a function that shows the cost of a result and
   * returns the result without it.
   *
   * @returns {{ headers: Record<string, string>, take: (result: Result) => Result }}
   */
  const begin = () => {
    const requested = tab;
    const text = textOfTab();
    const { note } = plannable(storage);
    if (requested && !costs.get(requested)?.cost) {
      costs.set(requested, { text, cost: null, note: note === SUBSCRIPTION ? note : RUNNING });
      show();
    }
    return {
      headers: isOpen ? { "x-rungraph-explain": "1" } : {},
      take: ({ extensions = {}, ...result }) => {
        const { explain, ...others } = extensions;
        if (requested) costs.set(requested, { text, cost: explain ?? null, note });
        show();
        return Object.keys(others).length > 0 ? { ...result, extensions: others } : result;
      },
    };
  };
  return { begin, planSoon };
}

// page.js uses this global, because the page's scripts share one scope.
Object.assign(globalThis, { explainAnswers });
