// @ts-check
/* The controls of GraphiQL for who has no mouse: their names, and the keys that press them. */

const CLOSE = ".graphiql-tab-close";

/** Sets what differs: an observer would see its own change otherwise. @param {Element} target @param {Record<string, string | null>} values */
function describe(target, values) {
  for (const [name, value] of Object.entries(values))
    if (target.getAttribute(name) !== value)
      if (value === null) target.removeAttribute(name);
      else target.setAttribute(name, value);
}

/**
 * Makes the button in each tab the tab: GraphiQL's tabs are controls around controls, which screen readers cannot distinguish.
 * The keyboard closes a tab by Delete.
 *
 * @param {Element} item
 */
function nameTab(item) {
  const button = item.querySelector(".graphiql-tab-button");
  const close = item.querySelector(CLOSE);
  if (!button) return;
  const isChosen = `${item.classList.contains("graphiql-tab-active")}`;
  describe(item, { role: "presentation", "aria-selected": null });
  describe(button, {
    role: "tab",
    "aria-selected": isChosen,
    "aria-keyshortcuts": close && "Delete",
    title: `${button.textContent}${close ? " (Delete closes it)" : ""}`,
  });
  if (close) describe(close, { "aria-hidden": "true", tabindex: "-1", title: "Close tab (Delete)" });
}

/** Names a field of the explorer after its argument. @param {Element} field */
function nameArgument(field) {
  const argument = field.closest("[data-arg-name]")?.getAttribute("data-arg-name");
  describe(field, { "aria-label": argument ?? "What to add" });
}

/** Names the controls that GraphiQL leaves without a name, as they come. @param {Element} root */
function nameControls(root) {
  const name = () => {
    for (const item of root.querySelectorAll(".graphiql-tab")) nameTab(item);
    for (const field of root.querySelectorAll(".graphiql-explorer-root :is(input, select)"))
      nameArgument(field);
  };
  new MutationObserver(name).observe(root, {
    attributeFilter: ["aria-selected", "class"],
    childList: true,
    subtree: true,
  });
}

/**
 * Buttons by key: GraphiQL binds them to the Windows key where it shows Ctrl, or leaves what the browser does with the keys, which
 * is to reload the page.
 */
const BUTTON_KEYS = new Map([
  ["c", "Copy query"],
  ["m", "Merge"],
  ["p", "Prettify"],
  ["r", "Re-fetch"],
]);

/** @param {KeyboardEvent} event */
function pressButton(event) {
  const label = event.ctrlKey && event.shiftKey ? BUTTON_KEYS.get(event.key.toLowerCase()) : undefined;
  const button =
    label === undefined ? null : document.querySelector(`.graphiql-container [aria-label^="${label}"]`);
  if (!(button instanceof HTMLElement)) return;
  event.preventDefault();
  event.stopPropagation();
  button.click();
}

/** Closes the tab that is focused, as tabs do. @param {KeyboardEvent} event */
function closeTab({ key, target }) {
  if (key !== "Delete" || !(target instanceof Element) || target.role !== "tab") return;
  const close = target.closest(".graphiql-tab")?.querySelector(CLOSE);
  if (!(close instanceof HTMLElement)) return;
  close.click();
  requestAnimationFrame(() => {
    const chosen = document.querySelector(".graphiql-tab-active .graphiql-tab-button");
    if (chosen instanceof HTMLElement) chosen.focus();
  });
}

document.addEventListener("keydown", pressButton, { capture: true });
document.addEventListener("keydown", closeTab);

// For page.js: scripts share what is global.
Object.assign(globalThis, { nameControls });
