import { readdirSync, readFileSync } from "node:fs";

const DOCS = new URL("../../docs/", import.meta.url);

/** The file `docs/llms.txt`, in the format of https://llmstxt.org: a description of each page, for agents that read the documentation. */
export const LLMS_FILE = new URL("llms.txt", DOCS);

/** Maximum length of a description in the list, in characters, unless the first sentence is longer. */
const MAX_ABOUT = 200;

/** The line of a page: its title and first sentences, without links and emphasis. */
function lineOf(name: string): string {
  const text = readFileSync(new URL(name, DOCS), "utf8");
  const [, title = name] = /^# (.+)/.exec(text) ?? [];
  const [after = ""] = /(?<=^# .+\n+)[^\s#|`<][^]*?(?=\n\n|\n#|$)/.exec(text) ?? [];
  const plain = after
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("**", "")
    .replaceAll("\n", " ");
  let about = "";
  for (const sentence of plain.split(/(?<=\.) (?=[A-Z])/)) {
    // A sentence that ends with a colon only introduces something.
    if (/^Continues |:$/.test(sentence)) continue;
    if (about !== "" && about.length + sentence.length > MAX_ABOUT) break;
    about += `${about && " "}${sentence}`;
  }
  return `- [${title}](${name})${about && `: ${about}`}`;
}

const isRecipe = (name: string): boolean => name.startsWith("recipes/");

export function makeLlmsFile(): string {
  const pages = readdirSync(DOCS, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .toSorted();
  return [
    "# Rungraph",
    "",
    "> A GraphQL gateway over a REST service that tracks machine-learning runs: the API of Polyaxon 0.2 to 0.4. Frontends, notebooks and agents get runs with their builds, machines, statuses and metrics by one query.",
    "",
    "The schema with its descriptions is [schema/schema.graphql](../schema/schema.graphql); `schema/operations` has a query for each common question. Agents use the gateway at `/mcp` by the Model Context Protocol.",
    "",
    "## Pages",
    "",
    ...pages.filter((name) => !isRecipe(name)).map(lineOf),
    "",
    "## Recipes",
    "",
    ...pages.filter(isRecipe).map(lineOf),
    "",
  ].join("\n");
}
