// @ts-check
/* Makes the controls of GraphiQL accessible without a mouse: their names, and the keys that press them. */

const CLOSE = ".graphiql-tab-close";

/**
 * Sets only the attributes that differ. Otherwise an observer would be triggered by its own change.
 *
 * @param {Element} target
 * @param {Record<string, string | null>} values
 */
function describe(target, values) {
  for (const [name, value] of Object.entries(values))
    if (target.getAttribute(name) !== value)
      if (value === null) target.removeAttribute(name);
      else target.setAttribute(name, value);
}

/**
 * Gives the button in each tab the role of the tab, because GraphiQL nests the controls of a tab, and screen readers cannot distinguish
 * nested controls. The Delete key closes a tab.
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

/**
 * Names the controls that GraphiQL adds without a name. Scrolls a newly chosen tab into view.
 *
 * @param {Element} root
 */
function nameControls(root) {
  /** @type {Element | null} */
  let shown = null;
  const name = () => {
    const chosen = root.querySelector(".graphiql-tab-active");
    if (chosen !== shown) chosen?.scrollIntoView({ inline: "nearest", block: "nearest" });
    shown = chosen;
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
 * The buttons that are pressed by Ctrl, Shift and a key. GraphiQL shows Ctrl for these keys, but it binds some of them to the Windows key,
 * and for others it does not prevent the action of the browser, such as reloading the page.
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

/** Closes the focused tab. @param {KeyboardEvent} event */
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

// page.js uses this global, because the page's scripts share one scope.
Object.assign(globalThis, { nameControls });
