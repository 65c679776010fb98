// @ts-check
/*
 * Stores tabs and the last operations between visits. Never stores secrets: neither headers, which contain the token, nor secret arguments.
 */

/** The names under which GraphiQL stores its tabs, and the document and variables of the chosen tab. */
const TABS = "graphiql:tabState";
const CHOSEN = new Set(["graphiql:query", "graphiql:variables"]);

/** The tabs, without the values in operations that take a secret. @param {string} state */
function tabsToStore(state) {
  /** @type {{ tabs: { query: string | null, variables: string | null }[] }} */
  const { tabs, ...others } = JSON.parse(state);
  return JSON.stringify({ tabs: tabs.map(withoutSecrets), ...others });
}

/** The browser's storage with a prefix for all names. @param {string} prefix */
function storageNamed(prefix) {
  const namesStored = () => Object.keys(localStorage).filter((name) => name.startsWith(prefix));

  /** @param {string} name */
  const readStored = (name) => localStorage.getItem(prefix + name);

  return {
    /**
     * GraphiQL also stores the document and variables of the chosen tab separately, a moment before or after the tabs. If the two differ,
     * it opens another tab at the next visit. Both are therefore read from the tabs, and not stored.
     *
     * @param {string} name
     */
    getItem: (name) => {
      if (!CHOSEN.has(name)) return readStored(name);
      const state = JSON.parse(readStored(TABS) ?? "null");
      return state?.tabs[state.activeTabIndex]?.[name.replace("graphiql:", "")] ?? null;
    },
    /** @param {string} name @param {string} value */
    setItem: (name, value) => {
      if (!CHOSEN.has(name)) localStorage.setItem(prefix + name, name === TABS ? tabsToStore(value) : value);
    },
    /** @param {string} name */
    removeItem: (name) => localStorage.removeItem(prefix + name),
    clear: () => {
      for (const name of namesStored()) localStorage.removeItem(name);
    },
    get length() {
      return namesStored().length;
    },
  };
}

// page.js uses this global, because the page's scripts share one scope.
Object.assign(globalThis, { storageNamed });
