// @ts-check
/* Asks what the operations of GraphiQL cost, and shows it below their answers. */

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
  /** What the last operation of each tab cost. @type {WeakMap<Element, Explanation>} */
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

  // GraphiQL has no place for it. Its own plugins stand far from the answer, and more of them would replace the explorer.
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
   * Begins an operation of the chosen tab: the headers with which it is explained, and a function that shows what its
   * result says of its cost and gives the result without it.
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

// For page.js: scripts share what is global.
Object.assign(globalThis, { explainAnswers });
