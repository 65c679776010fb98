// @ts-check
/* The list of example operations, and of the operations that were sent last. */

/**
 * @typedef {{ name: string, about: string, type: string, query: string, variables: string }} Operation
 * @typedef {Pick<Storage, "getItem" | "setItem" | "removeItem">} Stored
 */

const HEADINGS = new Map([
  ["recent", "Sent last"],
  ["query", "Read"],
  ["subscription", "Watch"],
  ["mutation", "Change"],
]);

const RECENT = "recent";
const MAX_RECENT = 12;

/** @param {string} query */
const nameIn = (query) =>
  /^[ \t]*(?:query|mutation|subscription)\s+(\w+)/m.exec(query)?.[1] ?? "without a name";

/** The words that people search for, and after the colon the word that the operations use for them. */
const SYNONYMS = [
  "cancel abort kill terminate: stop",
  "gpu gpus cpu host server hardware node: machine",
  "remove: delete",
  "sweep search hyperparameter tuning hpo: group",
  "hyperparameter param config: parameter",
  "image docker container: build",
  "artifact artifacts output: file",
  "stdout console print: log",
  "crash crashed error broken exception: fail",
  "chart plot curve graph history: metric",
  "rerun retry again resume: restart",
  "star favorite favourite: bookmark",
  "trial model training: experiment",
  "live realtime watch stream follow: appear change",
  "diff difference versus: compare differ",
  "lineage provenance: origin come",
  "permission admin role: superuser",
  "launch submit: start",
  "usage utilization free busy: fullest",
];

/** @type {Map<string, string[]>} */
const MEANT = new Map();
for (const line of SYNONYMS) {
  const [searched = "", meant = ""] = line.split(": ");
  for (const word of searched.split(" ")) MEANT.set(word, [...(MEANT.get(word) ?? []), ...meant.split(" ")]);
}

/**
 * The operations that contain the largest number of the searched words or their synonyms, because people search with whole sentences.
 * Operations with more of the words in their names come first.
 *
 * @param {Operation[]} operations @param {string[]} words
 */
function bestOf(operations, words) {
  if (words.length === 0) return operations;
  /** @param {string} text */
  const count = (text) => {
    const lower = text.toLowerCase();
    return words.filter((word) => [word, ...(MEANT.get(word) ?? [])].some((each) => lower.includes(each)))
      .length;
  };
  const ranked = operations.map((operation) => {
    const { name, about } = operation;
    return { operation, inName: count(name), inAll: count(`${name} ${about}`) };
  });
  const most = Math.max(1, ...ranked.map(({ inAll }) => inAll));
  return ranked
    .filter(({ inAll }) => inAll === most)
    .toSorted((one, other) => other.inName - one.inName)
    .map(({ operation }) => operation);
}

/**
 * Fills the list. Returns a function that remembers a sent operation, unless it takes a secret.
 *
 * @param {HTMLDetailsElement} menu @param {Operation[]} operations @param {Stored} storage
 */
function listOperations(menu, operations, storage) {
  const found = menu.querySelector(".found");
  const search = menu.querySelector("input");
  if (!found || !search) throw new TypeError("expected the list of operations in the page");

  /** @returns {Operation[]} */
  const recent = () => JSON.parse(storage.getItem(RECENT) ?? "[]");

  /** @param {Operation} operation */
  const buttonOf = (operation) => {
    const button = element("button", { type: "button" }, element("strong", {}, operation.name));
    if (operation.about !== "") button.append(element("span", {}, operation.about));
    button.addEventListener("click", () => {
      menu.open = false;
      openTab(operation, storage);
    });
    return element("li", {}, button);
  };

  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matching = bestOf([...recent(), ...operations], words);
    const groups = [...HEADINGS].map(([type, heading]) => {
      const items = matching.filter((operation) => operation.type === type).map(buttonOf);
      return items.length === 0 ? [] : [element("h2", {}, heading), element("ul", {}, ...items)];
    });
    found.replaceChildren(...groups.flat());
    if (matching.length === 0) found.append(element("p", {}, "No operation has these words."));
  };

  /** Enter opens the first result of the search, and the arrow keys move through all results. @param {KeyboardEvent} event */
  const walk = (event) => {
    const buttons = [...found.querySelectorAll("button")];
    const stops = [search, ...buttons];
    const at = stops.findIndex((stop) => stop === event.target);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (at < 0 || (!step && !(event.key === "Enter" && at === 0))) return;
    event.preventDefault();
    if (step) stops[at + step]?.focus();
    else buttons[0]?.click();
  };

  menu.addEventListener("keydown", walk);
  search.addEventListener("input", show);
  show();
  menu.addEventListener("toggle", () => {
    if (menu.open) return search.focus();
    search.value = "";
    show();
  });

  /** @param {Params} params */
  return ({ query, variables }) => {
    if (takesSecret(query)) return;
    const sent = { query, variables: JSON.stringify(variables ?? {}, null, 2) };
    const others = recent().filter((each) => each.query !== sent.query || each.variables !== sent.variables);
    const about =
      variables && Object.keys(variables).length > 0 ? JSON.stringify(variables).slice(0, 100) : "";
    const latest = { ...sent, name: nameIn(query), about, type: RECENT };
    storage.setItem(RECENT, JSON.stringify([latest, ...others].slice(0, MAX_RECENT)));
    show();
  };
}

/** Forgets the sent operations. @param {Stored} storage */
const forgetSent = (storage) => storage.removeItem(RECENT);

/** Describes the effects of some mutations to the user. @param {string[]} names @param {Record<string, string>} effects */
function consequenceOf(names, effects) {
  const deletes = names.some((name) => name.startsWith("delete"));
  return [...names.map((name) => effects[name]), ...(deletes ? ["This cannot be undone."] : [])].join(" ");
}

/**
 * Returns a function that asks the user to confirm operations that delete or administrate.
 *
 * @param {HTMLDialogElement} dialog @param {Record<string, string>} destructive what such mutations do, by their names
 */
function questionBefore(dialog, destructive) {
  const title = dialog.querySelector("h2");
  const text = dialog.querySelector("p");
  const values = dialog.querySelector("pre");
  if (!title || !text || !values) throw new TypeError("expected a title, a text and values in the dialog");
  /** @param {Params} params @returns {Promise<boolean>} */
  return async ({ query, variables }) => {
    const words = wordsOf(query);
    const named = Object.keys(destructive).filter((name) => words.has(name));
    if (!words.has("mutation") || named.length === 0) return true;
    title.textContent = "Run this?";
    text.textContent = consequenceOf(named, destructive);
    values.textContent = variables ? JSON.stringify(variables, null, 2) : "";
    dialog.returnValue = "";
    dialog.showModal();
    await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
    return dialog.returnValue === "run";
  };
}

// page.js uses this global, because the page's scripts share one scope.
Object.assign(globalThis, { forgetSent, listOperations, questionBefore });
