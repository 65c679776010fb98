// @ts-check
/* What the page keeps between visits: tabs and what was sent last, never a header, so no token. */

/** The browser's storage under names of its own. @param {string} prefix */
function storageNamed(prefix) {
  const namesStored = () => Object.keys(localStorage).filter((name) => name.startsWith(prefix));

  /** @param {string} name */
  const readStored = (name) => localStorage.getItem(prefix + name);

  return {
    /**
     * GraphiQL keeps the document and variables of the chosen tab once more by themselves, a moment before or after the
     * tabs; where the two differ it opens another tab at the next visit. So both are read from the tabs.
     *
     * @param {string} name
     */
    getItem: (name) => {
      if (name !== "graphiql:query" && name !== "graphiql:variables") return readStored(name);
      const state = JSON.parse(readStored("graphiql:tabState") ?? "null");
      return state?.tabs[state.activeTabIndex]?.[name.replace("graphiql:", "")] ?? null;
    },
    /** @param {string} name @param {string} value */
    setItem: (name, value) => localStorage.setItem(prefix + name, value),
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

// For page.js: scripts share what is global.
Object.assign(globalThis, { storageNamed });
