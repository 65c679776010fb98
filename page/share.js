// @ts-check
/* Links to an operation, and the same operation as code. No link and no code holds a token. */

/** @param {Written} written */
const paramsOf = ({ query, variables }) => ({ query, variables: JSON.parse(variables.trim() || "{}") });

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The parts of code in each language, by what a button says. @type {Record<string, (written: Written, url: string) => string>} */
const TEXTS_OF = {
  link: (written, url) => `${url}#${new URLSearchParams(written)}`,
  curl: (written, url) =>
    [
      `curl ${quoted(url)} \\`,
      `  -H "authorization: token $RUNGRAPH_TOKEN" -H 'content-type: application/json' \\`,
      `  -d ${quoted(JSON.stringify(paramsOf(written)))}`,
    ].join("\n"),
  javascript: (written, url) => `const response = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: { "content-type": "application/json", authorization: \`token \${process.env.RUNGRAPH_TOKEN}\` },
  body: JSON.stringify(${JSON.stringify(paramsOf(written), null, 2)}),
});
const { data, errors } = await response.json();
`,
  python: (written, url) => `import json, os, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(url)},
    json.dumps(json.loads(${JSON.stringify(JSON.stringify(paramsOf(written)))})).encode(),
    {"content-type": "application/json", "authorization": "token " + os.environ["RUNGRAPH_TOKEN"]},
)
answer = json.load(urllib.request.urlopen(request))
`,
};

/** Fills the menu. @param {HTMLDetailsElement} menu */
function offerCopies(menu) {
  const told = menu.querySelector("[role=status]");
  if (!told) throw new TypeError("expected a line for what was copied");
  menu.addEventListener("toggle", () => (told.textContent = ""));
  for (const button of menu.querySelectorAll("button"))
    button.addEventListener("click", async () => {
      try {
        const { href } = new URL("graphql", location.href);
        const text = TEXTS_OF[button.dataset["as"] ?? ""]?.(written(), href) ?? "";
        await navigator.clipboard.writeText(text);
        told.textContent =
          button.dataset["as"] === "link" ? "Copied." : "Copied. RUNGRAPH_TOKEN stands for your token.";
      } catch (fault) {
        told.textContent =
          fault instanceof SyntaxError
            ? "The variables are no JSON."
            : "The browser did not let it be copied.";
      }
    });
}

/** Opens what a link names, and takes it out of the address. @param {Pick<Storage, "getItem">} storage */
function openLinked(storage) {
  const linked = new URLSearchParams(location.hash.slice(1));
  const query = linked.get("query");
  if (query === null) return;
  history.replaceState(null, "", location.pathname + location.search);
  openTab({ query, variables: linked.get("variables") ?? "" }, storage);
}

// For page.js: scripts share what is global.
Object.assign(globalThis, { offerCopies, openLinked });
