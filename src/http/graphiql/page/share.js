// @ts-check
/* Creates links to an operation, and code that sends it. Neither links nor code contain a token. */

/**
 * The operation to send. If the document has several operations, `operationName` is the one that is chosen in GraphiQL.
 *
 * @typedef {Params & { isStream: boolean }} Sent
 * @param {Written} written @param {string | null} chosen @returns {Sent}
 */
function sentOf({ query, variables }, chosen) {
  const operations = [...query.matchAll(/^[ \t]*(query|mutation|subscription)\b\s*(\w*)/gm)];
  const named = operations.find(([, , name]) => name === chosen) ?? operations[0];
  return {
    query,
    variables: readVariables(variables),
    ...(operations.length > 1 && { operationName: named?.[2] ?? null }),
    isStream: named?.[1] === "subscription",
  };
}

/** Thrown if the variables are not JSON. */
class Unreadable extends Error {}

/** @param {string} text */
function readVariables(text) {
  try {
    return JSON.parse(text.trim() || "{}");
  } catch {
    throw new Unreadable();
  }
}

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** A raw Python string in triple quotes. @param {string} text */
const rawText = (text) => `r'''${text.replaceAll("'''", String.raw`\u0027\u0027\u0027`)}'''`;

/** Functions that create code, by the label of their button. @type {Record<string, (sent: Sent, url: string) => string>} */
const CODE_OF = {
  curl: ({ isStream, ...params }, url) =>
    [
      `curl ${isStream ? "-N " : ""}${quoted(url)} \\`,
      ...(isStream ? [`  -H 'accept: text/event-stream' \\`] : []),
      `  -H "authorization: token $RUNGRAPH_TOKEN" -H 'content-type: application/json' \\`,
      `  -d ${quoted(JSON.stringify(params))}`,
    ].join("\n"),
  javascript: ({ isStream, ...params }, url) => `const response = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: {
    ${isStream ? `accept: "text/event-stream",\n    ` : ""}"content-type": "application/json",
    authorization: \`token \${process.env.RUNGRAPH_TOKEN}\`,
  },
  body: JSON.stringify(${JSON.stringify(params, null, 2)}),
});
${
  isStream
    ? `for await (const part of response.body.pipeThrough(new TextDecoderStream())) console.log(part);`
    : `const { data, errors } = await response.json();
console.dir({ data, errors }, { depth: null });`
}
`,
  python: ({ isStream, ...params }, url) => `import json, os, urllib.error, urllib.request

params = json.loads(${rawText(JSON.stringify(params, null, 2))})
request = urllib.request.Request(
    ${JSON.stringify(url)},
    json.dumps(params).encode(),
    {
        ${isStream ? `"accept": "text/event-stream",\n        ` : ""}"content-type": "application/json",
        "authorization": "token " + os.environ["RUNGRAPH_TOKEN"],
    },
)
try:
    response = urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    response = error  # its body has the errors
${
  isStream
    ? `for line in response:
    print(line.decode(), end="")`
    : `answer = json.load(response)
print(json.dumps(answer, indent=2))`
}
`,
};

/** The name of the operation that GraphiQL has chosen in the chosen tab. @param {Pick<Storage, "getItem">} storage */
function chosenIn(storage) {
  const state = JSON.parse(storage.getItem("graphiql:tabState") ?? "null");
  return state?.tabs[state.activeTabIndex]?.operationName ?? null;
}

/** @param {string} as @param {Written} operation @param {Pick<Storage, "getItem">} storage */
function textOf(as, operation, storage) {
  const { href } = new URL("graphql", location.href);
  const code = CODE_OF[as];
  return code
    ? code(sentOf(operation, chosenIn(storage)), href)
    : `${href}#${new URLSearchParams(operation)}`;
}

/** The message of the menu after something was copied. @param {string} as @param {boolean} isWithoutValues */
const sayCopied = (as, isWithoutValues) =>
  [
    isWithoutValues ? "Copied without its texts, because one of them is a secret." : "Copied.",
    ...(as === "link" ? [] : ["RUNGRAPH_TOKEN stands for your token."]),
  ].join(" ");

/** Fills the menu. @param {HTMLDetailsElement} menu @param {Pick<Storage, "getItem">} storage */
function offerCopies(menu, storage) {
  const message = menu.querySelector("[role=status]");
  if (!message) throw new TypeError("expected a line for what was copied");
  menu.addEventListener("toggle", () => (message.textContent = ""));
  for (const button of menu.querySelectorAll("button"))
    button.addEventListener("click", async () => {
      const as = button.dataset["as"] ?? "";
      try {
        const operation = written();
        await navigator.clipboard.writeText(textOf(as, withoutSecrets(operation), storage));
        message.textContent = sayCopied(as, takesSecret(operation.query));
      } catch (error) {
        message.textContent =
          error instanceof Unreadable
            ? "The variables are no JSON."
            : "The browser did not let it be copied.";
      }
    });
}

/** Opens the operation of a link, and removes it from the address. @param {Pick<Storage, "getItem">} storage */
function openLinked(storage) {
  const linked = new URLSearchParams(location.hash.slice(1));
  const query = linked.get("query");
  if (query === null) return;
  history.replaceState(null, "", location.pathname + location.search);
  openTab({ query, variables: linked.get("variables") ?? "" }, storage);
}

// page.js uses this global, because the page's scripts share one scope.
Object.assign(globalThis, { chosenIn, offerCopies, openLinked, sentOf });
