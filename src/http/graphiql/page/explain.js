// @ts-check
/* Requests the cost of the operations of GraphiQL, and shows it below their results. */

const CHOSEN_TAB = ".graphiql-tab-active";

/**
 * Shows the cost below each result of GraphiQL. While the panel is folded, no cost is requested.
 *
 * @param {Element} root of GraphiQL
 * @param {Pick<Storage, "getItem" | "setItem" | "removeItem">} storage
 */
function explainAnswers(root, storage) {
  const folded = "explain:folded";
  let isOpen = storage.getItem(folded) === null;
  /** The cost of the last operation of each tab. @type {WeakMap<Element, Explanation>} */
  const costs = new WeakMap();
  /** @type {Element | null} */
  let tab = null;
  const show = () => panel.show((tab && costs.get(tab)) ?? null);
  const panel = createExplainPanel({
    isOpen,
    onToggle: (opens) => {
      isOpen = opens;
      if (opens) storage.removeItem(folded);
      else storage.setItem(folded, "yes");
      show();
    },
  });
  show();

  // GraphiQL has no place for the panel. Plugins stand far from the result, and another plugin would replace the explorer.
  const attach = () => {
    const response = root.querySelector(".graphiql-response");
    if (response && !response.contains(panel.section)) response.append(panel.section);
    const chosen = root.querySelector(CHOSEN_TAB);
    if (chosen === tab) return;
    tab = chosen;
    show();
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
  return () => {
    const requested = tab;
    return {
      headers: isOpen ? { "x-rungraph-explain": "1" } : {},
      take: ({ extensions = {}, ...result }) => {
        const { explain, ...others } = extensions;
        if (requested && explain) costs.set(requested, explain);
        else if (requested) costs.delete(requested);
        show();
        return Object.keys(others).length > 0 ? { ...result, extensions: others } : result;
      },
    };
  };
}

// page.js uses this global, because the page's scripts share one scope.
Object.assign(globalThis, { explainAnswers });
