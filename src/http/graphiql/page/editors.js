// @ts-check
/* The editors of GraphiQL: what stands in them, and how an operation gets into a tab of its own. It runs before GraphiQL. */

/** @type {{ workers: Record<string, string> }} */
const { workers } = JSON.parse(document.querySelector("#settings")?.textContent ?? "");

Object.assign(globalThis, {
  MonacoEnvironment: {
    globalAPI: true,
    /** @param {string} _module @param {string} label */
    getWorkerUrl: (_module, label) => workers[label],
  },
});

/**
 * @typedef {{ query: string, variables: string }} Written
 * @typedef {{
 *   updateOptions: (options: object) => void,
 *   trigger: (source: string, command: string, payload: object) => void,
 *   getModel: () => Model | null,
 *   focus: () => void,
 * }} Editor
 * @typedef {{ uri: { path: string }, getValue: () => string, setValue: (text: string) => void }} Model
 */

/** GraphiQL's names of its editors' texts. */
const TEXTS = { query: "operation.graphql", variables: "variables.json" };

/** @param {string} name @returns {Model | undefined} */
function textNamed(name) {
  // @ts-expect-error: the bundle of GraphiQL comes without types for browsers.
  const models = globalThis.monaco?.editor.getModels() ?? [];
  return models.find((/** @type {Model} */ { uri }) => uri.path.endsWith(name));
}

/** Focuses the document, which runs by Ctrl-Enter from there; not on a phone, whose keyboard would cover the page. */
function focusQuery() {
  if (!matchMedia("(pointer: fine)").matches) return;
  // @ts-expect-error: as above.
  const editors = /** @type {Editor[]} */ (globalThis.monaco.editor.getEditors());
  editors.find((editor) => editor.getModel()?.uri.path.endsWith(TEXTS.query))?.focus();
}

/** The content of the editors. @returns {Written} */
const written = () => ({
  query: textNamed(TEXTS.query)?.getValue() ?? "",
  variables: textNamed(TEXTS.variables)?.getValue() ?? "",
});

/**
 * The tab in which this stands already, by what GraphiQL has stored of the tabs.
 *
 * @param {Written} given @param {Pick<Storage, "getItem">} storage
 */
function tabWith({ query, variables }, storage) {
  /** @type {{ query: string | null, variables: string | null }[]} */
  const tabs = JSON.parse(storage.getItem("graphiql:tabState") ?? "null")?.tabs ?? [];
  const at = tabs.findIndex((tab) => tab.query === query && (tab.variables ?? "") === variables);
  return document.querySelectorAll(".graphiql-tab-button")[at];
}

/** Opens a tab, or chooses the one in which this stands already. @param {Written} given @param {Pick<Storage, "getItem">} storage */
function openTab({ query, variables }, storage) {
  const tab = tabWith({ query, variables }, storage);
  if (tab instanceof HTMLElement) {
    tab.click();
    tab.scrollIntoView({ inline: "nearest" });
    return focusQuery();
  }
  const button = document.querySelector(".graphiql-tab-add");
  if (!(button instanceof HTMLElement)) throw new TypeError("expected GraphiQL's button for new tabs");
  button.click();
  textNamed(TEXTS.query)?.setValue(query);
  textNamed(TEXTS.variables)?.setValue(variables);
  document.querySelector(".graphiql-tab-active")?.scrollIntoView({ inline: "nearest" });
  focusQuery();
}

/** Gives the editors the mode of the system, where none was chosen: GraphiQL looks at it when it begins, and not again. */
function followMode() {
  if (/graphiql-(?:light|dark)/.test(document.body.className)) return;
  // @ts-expect-error: as above.
  globalThis.monaco.editor.setTheme(systemDark.matches ? "graphiql-DARK" : "graphiql-LIGHT");
}

const systemDark = matchMedia("(prefers-color-scheme: dark)");

/** Lets the Tab key leave the editors, because who has no mouse would not get out of them, and wraps long lines. */
function prepareEditors() {
  systemDark.addEventListener("change", followMode);
  let isFirst = true;
  // @ts-expect-error: as above.
  globalThis.monaco.editor.onDidCreateEditor((/** @type {Editor} */ editor) => {
    const command = isFirst && "editor.action.toggleTabFocusMode";
    isFirst = false;
    queueMicrotask(() => {
      editor.updateOptions({ wordWrap: "on" });
      followMode();
      // The option of the same name changes nothing; the command does, for all editors, once this one is complete.
      if (command) editor.trigger("page", command, {});
    });
  });
}

/** Calls back once GraphiQL shows its editors. @param {Element} root @param {() => void} callback */
function whenShown(root, callback) {
  const isShown = () =>
    textNamed(TEXTS.query) !== undefined && root.querySelector(".graphiql-tab-add") !== null;
  const observer = new MutationObserver(() => {
    if (!isShown()) return;
    observer.disconnect();
    callback();
  });
  observer.observe(root, { childList: true, subtree: true });
}

// For page.js: scripts share what is global.
Object.assign(globalThis, { prepareEditors, openTab, whenShown, written });
