// @ts-check
/* The page around GraphiQL: keeps the token of its session, and sends the requests of GraphiQL. */

/**
 * @typedef {{
 *   token: string | null,
 *   signIn: string,
 *   welcome: string,
 *   operations: Operation[],
 *   destructive: Record<string, string>,
 *   secretFields: string[],
 *   isExplainable: boolean,
 *   storagePrefix: string,
 * }} Settings
 */

/** The key of the token in the session storage, which ends with the browser tab and is not visible to other origins. */
const TOKEN = "rungraph:token";
/** The key that is set while the page is loaded again for another caller. */
const CHANGED = "rungraph:changed";

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
 * The token of the current caller. For another caller the page is loaded again, so that no stream and no result of this caller is left.
 * After signing out, the token is an empty string, so that the example token is not offered again.
 */
let token = sessionStorage.getItem(TOKEN) ?? settings.token ?? "";

/** @type {{ headers: Record<string, string>, take: (result: Result) => Result }} */
const NOT_EXPLAINED = { headers: {}, take: (result) => result };

/** The empty result of an operation that was not sent. @type {AsyncIterable<Result>} */
const NOTHING = {
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }),
};

const root = find("#root", HTMLElement);
const storage = storageNamed(settings.storagePrefix);

/** Sends a query or a mutation of the page itself. @param {Params} params @param {string} [as] the token to send */
const send = async (params, as = token) => resultOf(await post(params, as));

/** @param {string} as the token to send */
const whoIs = (as) => send({ query: "{ viewer { username } }" }, as);

/** @param {ResultError | undefined} error */
const isRefused = (error) => error?.extensions?.code === "UNAUTHENTICATED";

/** Minimum visible height of the answer after "Run", in pixels. */
const LEAST_ANSWER = 120;

/** Scrolls to the answer if it is below the window, such as at a zoom of 200 %. */
function showAnswer() {
  const top = root.querySelector(".graphiql-response")?.getBoundingClientRect().top ?? 0;
  if (top > innerHeight - LEAST_ANSWER) scrollBy(0, top - find("header", HTMLElement).offsetHeight - 8);
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

/** Loads the page again for another caller, who then sees nothing that the current caller has sent. @param {string} given */
function changeToken(given) {
  forgetSent(storage);
  sessionStorage.setItem(TOKEN, given);
  sessionStorage.setItem(CHANGED, "yes");
  location.reload();
}

// The focus is restored, because the focused form has disappeared with the page of the previous caller.
if (sessionStorage.getItem(CHANGED)) summary.focus();
sessionStorage.removeItem(CHANGED);

/** Reads the owner of the token. A token that the service rejects is forgotten. */
async function showUser() {
  if (token === "") return showSignIn();
  const { data, errors = [] } = await whoIs(token);
  if (data?.viewer) return show(`Signed in as ${data.viewer.username}`, { isSignedIn: true });
  const [error] = errors;
  if (!isRefused(error)) return show("Signed in", { isSignedIn: true, message: error?.message ?? "" });
  const isExample = token === settings.token;
  sessionStorage.removeItem(TOKEN);
  token = isExample ? "" : (settings.token ?? "");
  if (token !== "") return showUser();
  showSignIn(`The service does not take the token of this session: ${error?.message ?? ""}`);
}

/** @param {string} selector @param {(fields: FormData) => Promise<void> | void} submit */
function onSubmit(selector, submit) {
  const form = find(selector, HTMLFormElement);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = new FormData(form);
    // The user name stays in the form, so that only a mistyped password must be entered again.
    for (const secret of form.querySelectorAll("input[type=password]"))
      if (secret instanceof HTMLInputElement) secret.value = "";
    try {
      await submit(fields);
    } catch (error) {
      statusLine.textContent = messageOf(error);
    }
  });
}

onSubmit("#sign-in", async (fields) => {
  const input = { username: fields.get("username"), password: fields.get("password") };
  const { data, errors = [] } = await send({ query: settings.signIn, variables: { input } });
  if (data?.login) changeToken(data.login.token);
  else if (errors[0]?.extensions?.code === "BAD_CREDENTIALS") showSignIn("User name or password is wrong.");
  else showSignIn(errors[0]?.message);
});
onSubmit("#give-token", async (fields) => {
  // People paste the whole header, or copy it from code with its quotes.
  const around = /^.*\b(?:authorization|token|bearer)\b["']?[:\s]+["']?|^["']|(?<!["'}])["'}]+$/gi;
  const given = String(fields.get("token")).trim().replace(around, "");
  if (!/^[!-~]+$/.test(given)) return showSignIn("A token is one word of letters, digits and signs.");
  const { errors = [] } = await whoIs(given);
  if (errors.some(isRefused)) showSignIn(`The service does not take this token: ${errors[0]?.message ?? ""}`);
  else changeToken(given);
});
onSubmit("#sign-out", () => changeToken(""));
showUser().catch((error) => show("Signed in", { isSignedIn: true, message: messageOf(error) }));

/** @param {(menu: HTMLDetailsElement) => boolean} isMeant */
function closeMenus(isMeant) {
  for (const menu of document.querySelectorAll("details.menu[open]"))
    if (menu instanceof HTMLDetailsElement && isMeant(menu)) menu.open = false;
}

/** @param {HTMLDetailsElement} menu @param {EventTarget | null} target */
const isIn = (menu, target) => target instanceof Node && menu.contains(target);

document.addEventListener("pointerdown", ({ target }) => closeMenus((menu) => !isIn(menu, target)));
document.addEventListener("keydown", ({ key, target }) => {
  if (key !== "Escape") return;
  closeMenus((menu) => {
    if (isIn(menu, target)) menu.querySelector("summary")?.focus();
    return true;
  });
});

/**
 * Disables the dragging of tabs, so that every press is a click. With dragging, a pressed tab would follow the pointer, or jump away if not
 * all tabs fit, and the click would be lost.
 */
document.addEventListener(
  "pointerdown",
  (event) => {
    if (event.target instanceof Element && event.target.closest(".graphiql-tab")) event.stopPropagation();
  },
  { capture: true },
);

/** Requests the plan of an operation. The gateway sends nothing to the service for a plan. @param {Params} params */
const plan = async (params) =>
  resultOf(
    await post(params, token, { headers: { "x-rungraph-explain": "plan" }, accept: "application/json" }),
  );

const explain = settings.isExplainable ? explainAnswers(root, storage, plan) : null;
const remember = listOperations(find("#operations", HTMLDetailsElement), settings.operations, storage);
const askFirst = questionBefore(find("#ask", HTMLDialogElement), settings.destructive);
offerCopies(find("#share", HTMLDetailsElement), storage);

/** Sorts the fields of a schema that was introspected, for the documentation explorer. @param {Result} result */
function inAlphabeticalOrder(result) {
  const [introspected] = Object.values(result.data ?? {});
  for (const type of introspected?.types ?? [])
    for (const fields of ["fields", "inputFields"])
      type[fields] &&= type[fields].toSorted(
        (/** @type {{ name: string }} */ one, /** @type {{ name: string }} */ other) =>
          one.name.localeCompare(other.name),
      );
  return result;
}

/** Sends an operation of a tab. @param {Params} params @param {Record<string, string>} [tabHeaders] */
async function run(params, tabHeaders) {
  const isOwn = params.operationName !== "IntrospectionQuery";
  if (isOwn && !(await askFirst(params))) return NOTHING;
  if (isOwn) {
    remember(params);
    showAnswer();
  }
  const { headers, take } = (isOwn && explain?.begin()) || NOT_EXPLAINED;
  return sendOfTab(params, token, { ...tabHeaders, ...headers }, (result) => {
    if (isOwn && token === "" && result.errors?.some(isRefused)) showSignIn("Sign in to run this.");
    return take(isOwn ? result : inAlphabeticalOrder(result));
  });
}

nameControls(root);
showTables(root);
prepareEditors();
whenShown(root, () => openLinked(storage));
addEventListener("hashchange", () => openLinked(storage));

// @ts-expect-error: the bundle of GraphiQL comes without types for browsers.
globalThis.YogaGraphiQL.renderYogaGraphiQL(root, {
  title: "Rungraph",
  /** @param {Params} params @param {{ headers?: Record<string, string> }} [options] */
  fetcher: (params, options) => run(params, options?.headers),
  storage,
  defaultTabs: [{ query: settings.welcome }],
  defaultEditorToolsVisibility: "variables",
  shouldPersistHeaders: false,
  // This replaces GraphiQL's default, which writes the whole document into the address.
  onEditQuery: () => explain?.planSoon(),
  onEditVariables: () => explain?.planSoon(),
});
