// @ts-check
/*
 * Shows the cost of an operation below the result of GraphiQL: an estimate while the operation is edited, and the measured cost after it
 * has run.
 */

const CHOSEN_TAB = ".graphiql-tab-active";

/** Time after the last change of an operation before its cost is estimated, in milliseconds. */
const PAUSE_MS = 500;

const textOfTab = () => JSON.stringify(written());

/** The operation in the editors; null if it cannot be planned. @param {Pick<Storage, "getItem">} storage */
function plannable(storage) {
  const operation = written();
  if (takesSecret(operation.query)) return null;
  try {
    const { isStream, ...params } = sentOf(operation, chosenIn(storage));
    return isStream ? null : params;
  } catch {
    return null;
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
  /** The cost that each tab shows, with the text of its operation. @type {WeakMap<Element, { text: string, cost: Explanation | null }>} */
  const costs = new WeakMap();
  /** @type {Element | null} */
  let tab = null;
  const show = () => panel.show((tab && costs.get(tab)?.cost) ?? null);
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
    const [planned, text, params] = [tab, textOfTab(), plannable(storage)];
    const isShown = () => planned !== null && costs.get(planned)?.text === text;
    if (!isOpen || !planned || isShown()) return;
    const result = params && (await plan(params).catch(() => null));
    // The operation was edited, or has run, in the meantime.
    if (tab !== planned || textOfTab() !== text || isShown()) return;
    // The result of an invalid operation has no data.
    const explain = result?.data === undefined ? null : result.extensions?.["explain"];
    costs.set(planned, { text, cost: explain ? { ...explain, isPlan: true } : null });
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
    return {
      headers: isOpen ? { "x-rungraph-explain": "1" } : {},
      take: ({ extensions = {}, ...result }) => {
        const { explain, ...others } = extensions;
        if (requested) costs.set(requested, { text, cost: explain ?? null });
        show();
        return Object.keys(others).length > 0 ? { ...result, extensions: others } : result;
      },
    };
  };
  return { begin, planSoon };
}

// page.js uses this global, because the page's scripts share one scope.
Object.assign(globalThis, { explainAnswers });
