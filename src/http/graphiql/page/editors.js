// @ts-check
/* Reads the content of GraphiQL's editors, and opens operations in separate tabs. Runs before GraphiQL. */

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
 * @typedef {{ uri: { path: string }, getValue: () => string, setValue: (text: string) => void, onDidChangeContent: (listener: () => void) => void }} Model
 */

/** The names that GraphiQL gives the models of its editors. */
const TEXTS = { query: "operation.graphql", variables: "variables.json" };

/** @param {string} name @returns {Model | undefined} */
function textNamed(name) {
  // @ts-expect-error: the bundle of GraphiQL comes without types for browsers.
  const models = globalThis.monaco?.editor.getModels() ?? [];
  return models.find((/** @type {Model} */ { uri }) => uri.path.endsWith(name));
}

/**
 * Focuses the editor of the document, so that Ctrl-Enter sends the operation. Does nothing on a phone, whose keyboard would cover the page.
 */
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
 * The tab that already contains this operation, according to the tabs that GraphiQL has stored.
 *
 * @param {Written} given @param {Pick<Storage, "getItem">} storage
 */
function tabWith({ query, variables }, storage) {
  /** @type {{ query: string | null, variables: string | null }[]} */
  const tabs = JSON.parse(storage.getItem("graphiql:tabState") ?? "null")?.tabs ?? [];
  const at = tabs.findIndex((tab) => tab.query === query && (tab.variables ?? "") === variables);
  return document.querySelectorAll(".graphiql-tab-button")[at];
}

/** Opens a tab, or chooses the tab that already contains this operation. @param {Written} given @param {Pick<Storage, "getItem">} storage */
function openTab({ query, variables }, storage) {
  const tab = tabWith({ query, variables }, storage);
  if (tab instanceof HTMLElement) {
    tab.click();
    return focusQuery();
  }
  const button = document.querySelector(".graphiql-tab-add");
  if (!(button instanceof HTMLElement)) throw new TypeError("expected GraphiQL's button for new tabs");
  button.click();
  textNamed(TEXTS.query)?.setValue(query);
  textNamed(TEXTS.variables)?.setValue(variables);
  focusQuery();
}

/**
 * Applies the color scheme of the system to the editors if the user has chosen none, because GraphiQL reads the scheme only at the start.
 */
function followMode() {
  if (/graphiql-(?:light|dark)/.test(document.body.className)) return;
  // @ts-expect-error: as above.
  globalThis.monaco.editor.setTheme(systemDark.matches ? "graphiql-DARK" : "graphiql-LIGHT");
}

const systemDark = matchMedia("(prefers-color-scheme: dark)");

/**
 * Lets the Tab key leave the editors, which otherwise requires a mouse. Lets the wheel scroll the page if the editor has nothing to scroll.
 * Wraps long lines.
 */
function prepareEditors() {
  systemDark.addEventListener("change", followMode);
  let isFirst = true;
  // @ts-expect-error: as above.
  globalThis.monaco.editor.onDidCreateEditor((/** @type {Editor} */ editor) => {
    const command = isFirst && "editor.action.toggleTabFocusMode";
    isFirst = false;
    queueMicrotask(() => {
      editor.updateOptions({ wordWrap: "on", scrollbar: { alwaysConsumeMouseWheel: false } });
      followMode();
      // The editor's option of this name has no effect. The command applies to all editors, so it runs once, after the first editor has
      // been created.
      if (command) editor.trigger("page", command, {});
    });
  });
}

/** Calls the callback as soon as GraphiQL shows its editors. @param {Element} root @param {() => void} callback */
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

// page.js uses this global, because the page's scripts share one scope.
Object.assign(globalThis, { prepareEditors, openTab, textNamed, whenShown, written });
