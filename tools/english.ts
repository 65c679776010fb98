import { readdirSync, readFileSync } from "node:fs";
import { parse, visit } from "graphql";

/*
 * Checks the English of comments, descriptions and pages, as far as a program can: `npm run check:english`. It reports sentences without a
 * subject, sentences that are too long, words with a better alternative, and siblings in the schema that have the same description.
 */

const MAX_WORDS = 35;

/** Matches a sentence that begins with a relative clause instead of a subject. Questions are allowed. */
const HEADLESS = /^(?:What|Who|Whoever|Whatever|Those|That which|So many|Which)\b(?!.*\?)/;

/** Words for which a better term exists. */
const AVOIDED: Readonly<Record<string, string>> = {
  whoever: "a plain subject",
  "so many": "a number",
  "hand clock": "fake clock",
  patience: "timeout",
  "the house": "the code base",
};

function* issuesIn(text: string): Generator<string> {
  for (const sentence of text.split(/(?<=[.!?]) (?=[A-Z`])/)) {
    const start = JSON.stringify(sentence.slice(0, 80));
    if (HEADLESS.test(sentence)) yield `expected a subject first, got ${start}`;
    const words = sentence.split(" ").length;
    if (words > MAX_WORDS) yield `expected at most ${MAX_WORDS} words, got ${words}: ${start}`;
    for (const [word, better] of Object.entries(AVOIDED))
      if (new RegExp(`\\b${word}\\b`, "i").test(sentence))
        yield `expected ${better}, got "${word}": ${start}`;
  }
}

const COMMENT = /(?:^|\s)\/\*\*?([\s\S]*?)\*\/|(?:^|\s)\/\/ ?(.*(?:\n\s*\/\/ ?.*)*)/g;

/** The comments of a source file, each joined into one line. */
const commentsIn = (code: string): string[] =>
  [...code.matchAll(COMMENT)].map(([, block, line = ""]) =>
    (block ?? line)
      .replaceAll(/\n\s*(?:\*|\/\/) ?/g, " ")
      .replaceAll(/\s+/g, " ")
      // Type annotations of JavaScript are not sentences.
      .replace(/ ?@\w+ .*$/, "")
      .trim(),
  );

/** The paragraphs of a page, without code, tables, lists, headings and links. */
const paragraphsIn = (page: string): string[] =>
  page
    .replaceAll(/^```.*?^```$/gms, "")
    .split(/\n{2,}/)
    .filter((paragraph) => !/^\s*(?:[|#<>*-]|\d+\.)/.test(paragraph))
    .map((paragraph) =>
      paragraph
        .replaceAll(/\]\([^)]*\)/g, "]")
        .replaceAll(/\s+/g, " ")
        .trim(),
    );

interface Described {
  readonly name: { readonly value: string };
  readonly description?: { readonly value: string };
}

/** Members of one type, or arguments of one field, that have the same description. */
function* equalSiblings(of: string, all: readonly Described[] = []): Generator<string> {
  const names = new Map<string, string>();
  for (const { name, description } of all) {
    const text = description?.value ?? "";
    const other = names.get(text);
    if (other !== undefined)
      yield `${of}: expected different descriptions, got one for ${other} and ${name.value}`;
    names.set(text, name.value);
  }
}

function* issuesInSchema(sdl: string): Generator<string> {
  const issues: string[] = [];
  visit(parse(sdl), {
    enter: (node) => {
      if ("description" in node && node.description)
        for (const issue of issuesIn(node.description.value.replaceAll(/\s+/g, " "))) issues.push(issue);
      // Safe: only definitions with a name have members.
      const { name } = node as { readonly name?: { readonly value: string } };
      for (const members of ["fields", "arguments", "values"] as const)
        if (members in node && "description" in node)
          issues.push(
            ...equalSiblings(name?.value ?? "", (node as unknown as Record<string, Described[]>)[members]),
          );
    },
  });
  yield* issues;
}

const CODE = ["src", "demo", "tools", "bench", "test", "schema", "examples/runs/src"];

const filesIn = (folder: string, pattern: RegExp): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => `${folder}/${path}`)
    .filter((path) => pattern.test(path) && !/node_modules|generated/.test(path));

const read = (path: string): string => readFileSync(path, "utf8");

function* check(): Generator<string> {
  for (const path of CODE.flatMap((folder) => filesIn(folder, /\.[jt]sx?$/)))
    for (const comment of commentsIn(read(path)))
      for (const issue of issuesIn(comment)) yield `${path}: ${issue}`;
  for (const path of ["README.md", "CONTRIBUTING.md", ...filesIn("docs", /\.md$/)])
    for (const paragraph of paragraphsIn(read(path)))
      for (const issue of issuesIn(paragraph)) yield `${path}: ${issue}`;
  for (const issue of issuesInSchema(read("schema/schema.graphql"))) yield `schema/schema.graphql: ${issue}`;
}

const issues = [...check()].toSorted();
if (issues.length > 0) {
  process.stdout.write(`${issues.join("\n")}\n`);
  process.exitCode = 1;
}
