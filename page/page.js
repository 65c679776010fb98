// @ts-check
/* The page around GraphiQL: holds the token of its session, and sends what GraphiQL asks. */

/**
 * @typedef {{
 *   token: string | null,
 *   signIn: string,
 *   tabs: { query: string, variables: string }[],
 *   isExplainable: boolean,
 *   storagePrefix: string,
 *   workers: Record<string, string>,
 * }} Settings
 * @typedef {{ data?: any, errors?: { message: string, extensions?: { code?: string } }[], extensions?: Record<string, any> }} Result
 */

/** Of the session storage: it ends with the browser tab, and no other origin sees it. */
const TOKEN = "rungraph:token";

const JSON_TYPES = "application/graphql-response+json, application/json";
const EVENT_STREAM = "text/event-stream";

/** @template {Element} Found @param {string} selector @param {new () => Found} type @returns {Found} */
function find(selector, type) {
  const element = document.querySelector(selector);
  if (element instanceof type) return element;
  throw new TypeError(`expected ${selector} in the page`);
}

/** @type {Settings} */
const settings = JSON.parse(find("#settings", HTMLScriptElement).text);
const account = find("#account", HTMLDetailsElement);
const summary = find("#account summary", HTMLElement);
const statusLine = find("#account [role=status]", HTMLElement);

/**
 * Whose page this is. Another caller gets it loaded anew, so that no stream and no answer of this one is left. Empty after
 * signing out: the example is not offered again then.
 */
let token = sessionStorage.getItem(TOKEN) ?? settings.token ?? "";

/**
 * Sends one operation. A header of the tab goes before that of the page.
 *
 * @param {object} params
 * @param {Record<string, string>} [tabHeaders]
 * @param {{ accept?: string, signal?: AbortSignal }} [options]
 */
async function post(params, tabHeaders = {}, { accept = JSON_TYPES, signal } = {}) {
  const headers = new Headers(tabHeaders);
  headers.set("content-type", "application/json");
  headers.set("accept", accept);
  if (token !== "" && !headers.has("authorization")) headers.set("authorization", `token ${token}`);
  return fetch("graphql", {
    method: "POST",
    credentials: "omit",
    headers,
    body: JSON.stringify(params),
    ...(signal && { signal }),
  });
}

/**
 * Sends a query or a mutation.
 *
 * @param {object} params
 * @returns {Promise<Result>}
 */
const send = async (params) => resultOf(await post(params));

/** @param {Response} response @returns {Promise<Result>} */
async function resultOf(response) {
  if (/\bjson\b/.test(response.headers.get("content-type") ?? "")) return response.json();
  throw new Error(`Expected JSON from the gateway, got status ${response.status} without it.`);
}

/**
 * Reads the results of an event stream until it ends or is aborted.
 *
 * @param {Response} response @param {AbortSignal} signal @returns {AsyncGenerator<Result>}
 */
async function* resultsOf({ body }, signal) {
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value = "" } = await reader.read().catch((fault) => {
      if (signal.aborted) return { done: true, value: "" };
      throw fault;
    });
    if (done) return;
    const frames = (text + value).split("\n\n");
    text = frames.pop() ?? "";
    for (const frame of frames) {
      const [, data] = /^data: (.+)$/m.exec(frame) ?? [];
      if (data !== undefined) yield JSON.parse(data);
    }
  }
}

/**
 * Sends an operation of a tab: a single result, or the results of a subscription, which GraphiQL ends by `return`.
 *
 * @param {{ operationName?: string }} params @param {Record<string, string>} [tabHeaders]
 */
async function run(params, tabHeaders) {
  const explained = explain?.(params);
  const headers = { ...tabHeaders, ...explained?.headers };
  const controller = new AbortController();
  const { signal } = controller;
  const response = await post(params, headers, { accept: `${JSON_TYPES}, ${EVENT_STREAM}`, signal });
  if (!response.headers.get("content-type")?.startsWith(EVENT_STREAM)) {
    const result = await resultOf(response);
    return explained ? explained.take(result) : result;
  }
  const results = resultsOf(response, signal);
  const iterator = {
    next: () => results.next(),
    return: () => {
      controller.abort();
      return results.return(undefined);
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** @param {string} title @param {{ isSignedIn: boolean, message?: string }} state */
function show(title, { isSignedIn, message = "" }) {
  account.dataset["state"] = isSignedIn ? "in" : "out";
  summary.textContent = title;
  statusLine.textContent = message;
}

function showSignIn(message = "") {
  show("Sign in", { isSignedIn: false, message });
  if (message !== "") account.open = true;
}

/** Loads the page for another caller. @param {string} given */
function changeToken(given) {
  sessionStorage.setItem(TOKEN, given);
  location.reload();
}

/** Asks whose token it is. One that the service does not take is forgotten. */
async function showUser() {
  if (token === "") return showSignIn();
  const { data, errors = [] } = await send({ query: "{ viewer { username } }" });
  if (data?.viewer) return show(`Signed in as ${data.viewer.username}`, { isSignedIn: true });
  const [error] = errors;
  if (error?.extensions?.code !== "UNAUTHENTICATED")
    return show("Signed in", { isSignedIn: true, message: error?.message ?? "" });
  const isExample = token === settings.token;
  sessionStorage.removeItem(TOKEN);
  token = isExample ? "" : (settings.token ?? "");
  if (token !== "") return showUser();
  showSignIn("The service does not take this token.");
}

/** @param {string} selector @param {(fields: FormData) => Promise<void> | void} submit */
function onSubmit(selector, submit) {
  const form = find(selector, HTMLFormElement);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = new FormData(form);
    form.reset();
    try {
      await submit(fields);
    } catch (fault) {
      statusLine.textContent = String(fault);
    }
  });
}

onSubmit("#sign-in", async (fields) => {
  const input = { username: fields.get("username"), password: fields.get("password") };
  const { data, errors = [] } = await send({ query: settings.signIn, variables: { input } });
  if (data?.login) changeToken(data.login.token);
  else showSignIn(errors[0]?.message);
});
onSubmit("#give-token", (fields) => changeToken(String(fields.get("token")).trim()));
onSubmit("#sign-out", () => changeToken(""));
showUser().catch((fault) => show("Signed in", { isSignedIn: true, message: String(fault) }));

/**
 * Takes dragging from the tabs: a pressed tab would follow the pointer, or jump away from under it where there are more
 * tabs than fit, and the click would be lost. Without dragging every press is a click.
 */
document.addEventListener(
  "pointerdown",
  (event) => {
    if (event.target instanceof Element && event.target.closest(".graphiql-tab")) event.stopPropagation();
  },
  { capture: true },
);

const namesStored = () => Object.keys(localStorage).filter((name) => name.startsWith(settings.storagePrefix));

/** @param {string} name */
const readStored = (name) => localStorage.getItem(settings.storagePrefix + name);

/** What GraphiQL keeps between visits: tabs and history, never headers, so no token. */
const storage = {
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
  setItem: (name, value) => localStorage.setItem(settings.storagePrefix + name, value),
  /** @param {string} name */
  removeItem: (name) => localStorage.removeItem(settings.storagePrefix + name),
  clear: () => {
    for (const name of namesStored()) localStorage.removeItem(name);
  },
  get length() {
    return namesStored().length;
  },
};

const explain = settings.isExplainable ? explainAnswers(find("#root", HTMLElement), storage) : null;

Object.assign(globalThis, {
  MonacoEnvironment: {
    globalAPI: false,
    /** @param {string} _module @param {string} label */
    getWorkerUrl: (_module, label) => settings.workers[label],
  },
});

// @ts-expect-error: the bundle of GraphiQL comes without types for browsers.
globalThis.YogaGraphiQL.renderYogaGraphiQL(find("#root", HTMLElement), {
  title: "Rungraph",
  /** @param {{ operationName?: string }} params @param {{ headers?: Record<string, string> }} [options] */
  fetcher: (params, options) => run(params, options?.headers),
  storage,
  defaultTabs: settings.tabs,
  defaultEditorToolsVisibility: "variables",
  shouldPersistHeaders: false,
  // Unless told, the whole document would be in the address.
  onEditQuery: () => {},
});
