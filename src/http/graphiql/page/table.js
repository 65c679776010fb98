// @ts-check
/* Shows the lists of objects in a result as tables that can be sorted. */

/**
 * @typedef {Record<string, any>} Row
 * @typedef {{ path: string, rows: Row[] }} FoundList
 * @typedef {Map<string, unknown>} Cells the values of a row by the paths of their fields
 */

/** Maximum rows of a table. More rows would make the page slow. */
const MAX_ROWS = 1_000;

/** @param {any} value @returns {value is Row} */
const isRow = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @param {unknown} value @returns {value is Row[]} */
const isTable = (value) => Array.isArray(value) && value.length > 0 && value.every(isRow);

/** The lists of objects in a value, without the lists nested in these objects. @param {unknown} value @param {string[]} path @returns {FoundList[]} */
function listsIn(value, path = []) {
  if (isTable(value)) return [{ path: path.join(".") || "the answer", rows: value }];
  return isRow(value) ? Object.entries(value).flatMap(([key, each]) => listsIn(each, [...path, key])) : [];
}

/**
 * The lists of the result that is shown: the lists in its data or, for a subscription, in its events.
 *
 * @param {string} text
 * @returns {FoundList[]}
 */
function listsOf(text) {
  try {
    const { data, events } = JSON.parse(text);
    return events ? listsIn(events, ["events"]) : listsIn(data);
  } catch {
    return [];
  }
}

/** The values of a row. Each field of a nested object forms a column. @param {Row} row @param {string} prefix @returns {Cells} */
function cellsOf(row, prefix = "") {
  /** @type {Cells} */
  const cells = new Map();
  for (const [name, value] of Object.entries(row))
    if (isRow(value)) for (const cell of cellsOf(value, `${prefix}${name}.`)) cells.set(...cell);
    else cells.set(prefix + name, value);
  return cells;
}

/** The columns of a table. A null does not form a column if other rows have an object there. @param {Cells[]} cells */
function columnsOf(cells) {
  const names = [...new Set(cells.flatMap((each) => [...each.keys()]))];
  /** The paths of objects. */
  const objects = new Set(names.flatMap((name) => prefixesOf(name)));
  return names.filter(
    (name) => !objects.has(name) || cells.some((each) => (each.get(name) ?? null) !== null),
  );
}

/** The prefixes of a name: `a` and `a.b` for `a.b.c`. @param {string} name */
const prefixesOf = (name) => [...name.matchAll(/\./g)].map(({ index }) => name.slice(0, index));

/** `name=value` for an object that has only a name and a value, such as a parameter; null for others. @param {unknown} row */
function pairOf(row) {
  if (!isRow(row)) return null;
  const { name, ...others } = row;
  const [value, ...more] = Object.values(others);
  return typeof name === "string" && value !== undefined && more.length === 0 && !isRow(value)
    ? `${name}=${textOfCell(value)}`
    : null;
}

/** @param {unknown} value @returns {string} */
function textOfCell(value) {
  if (value === null || value === undefined) return "";
  const pairs = Array.isArray(value) ? value.map(pairOf) : [];
  if (pairs.length > 0 && !pairs.includes(null)) return pairs.join(", ");
  if (isTable(value)) return counted(value.length, "row");
  if (Array.isArray(value))
    return value.map((each) => (isRow(each) ? JSON.stringify(each) : `${each}`)).join(", ");
  return `${value}`;
}

/** Compares numbers by value, and strings by their words and numbers. Rows without a value come last. @param {number} sign */
const inOrder =
  (/** @type {number} */ sign) => (/** @type {unknown} */ one, /** @type {unknown} */ other) => {
    const [first, second] = [one, other].map(textOfCell);
    if (first === "" || second === "") return Number(first === "") - Number(second === "");
    if (typeof one === "number" && typeof other === "number") return sign * (one - other);
    return sign * `${first}`.localeCompare(`${second}`, undefined, { numeric: true });
  };

/**
 * Adds a button that shows the lists of the result as tables.
 *
 * @param {Element} root of GraphiQL
 */
function showTables(root) {
  const button = element(
    "button",
    { type: "button", class: "table-button", "aria-pressed": "false" },
    "Table",
  );
  const choice = element("select", { "aria-label": "List of the answer" });
  const note = element("p", { role: "status" });
  const body = element("div", {
    class: "body",
    role: "region",
    "aria-label": "Answer as a table",
    tabindex: "0",
  });
  const panel = element(
    "section",
    { class: "answer-table" },
    element("div", { class: "head" }, choice, note),
    body,
  );

  let isOpen = false;
  /** @type {FoundList[]} */
  let lists = [];
  /** The column that sorts the rows, and its direction. @type {{ name: string, sign: number } | null} */
  let sorting = null;

  const shownList = () =>
    lists.find(({ path }) => choice instanceof HTMLSelectElement && path === choice.value) ?? lists[0];

  const drawTable = () => {
    const { rows } = shownList() ?? { rows: [] };
    const cells = rows.map((row) => cellsOf(row));
    const columns = columnsOf(cells);
    const { name = "", sign = 1 } = sorting ?? {};
    const sorted = columns.includes(name)
      ? cells.toSorted((one, other) => inOrder(sign)(one.get(name), other.get(name)))
      : cells;
    const head = columns.map((column) => {
      const by = element("button", { type: "button" }, column);
      by.addEventListener("click", () => {
        sorting = { name: column, sign: column === name ? -sign : 1 };
        drawTable();
        // The new button is focused, because the pressed button has disappeared with the previous table.
        const pressed = body.querySelectorAll("th button")[columns.indexOf(column)];
        if (pressed instanceof HTMLElement) pressed.focus();
      });
      const direction = sign > 0 ? "ascending" : "descending";
      return element("th", { scope: "col", "aria-sort": column === name ? direction : "none" }, by);
    });
    const lines = sorted.slice(0, MAX_ROWS).map((each) =>
      element(
        "tr",
        {},
        ...columns.map((column) => {
          const value = each.get(column);
          const text = textOfCell(value);
          // CSS truncates long values, so the title has the whole value.
          return element("td", typeof value === "number" ? { class: "number" } : { title: text }, text);
        }),
      ),
    );
    const table = element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...head)),
      element("tbody", {}, ...lines),
    );
    body.replaceChildren(table);
    const count = counted(rows.length, "row");
    note.textContent = rows.length > MAX_ROWS ? `${count}, of which ${MAX_ROWS} are shown` : count;
  };

  const show = () => {
    lists = listsOf(textNamed("response.json")?.getValue() ?? "");
    const response = root.querySelector(".graphiql-response");
    button.hidden = lists.length === 0;
    button.setAttribute("aria-pressed", `${isOpen}`);
    response?.toggleAttribute("data-table", isOpen && lists.length > 0);
    if (!isOpen || lists.length === 0) return;
    const chosen = shownList()?.path;
    choice.replaceChildren(...lists.map(({ path }) => element("option", { value: path }, path)));
    if (choice instanceof HTMLSelectElement && chosen !== undefined) choice.value = chosen;
    drawTable();
  };

  button.addEventListener("click", () => {
    isOpen = !isOpen;
    show();
  });
  choice.addEventListener("change", drawTable);

  /** The models that are watched. @type {WeakSet<object>} */
  const watched = new WeakSet();
  const attach = () => {
    const response = root.querySelector(".graphiql-response");
    if (response && !response.contains(panel)) response.prepend(button, panel);
    const model = textNamed("response.json");
    if (!model || watched.has(model)) return;
    watched.add(model);
    model.onDidChangeContent(show);
    show();
  };
  new MutationObserver(attach).observe(root, { childList: true, subtree: true });
}

// page.js uses this global, because the page's scripts share one scope.
Object.assign(globalThis, { showTables });
