import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { FOLDER } from "../../installation.ts";
import { compress } from "../compression.ts";
import { once } from "../once.ts";

/** The gateway's own page files. */
const OWN_FILES = new URL("src/http/graphiql/page/", FOLDER);

/** The own scripts before GraphiQL, and after it, in the order in which the page runs them: the last one uses the others. */
const BEFORE = ["editors", "controls"];
const AFTER = ["waterfall", "explain", "storage", "pieces", "sending", "operations", "share", "page"];

const TYPES = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** A file that the page loads. Its name contains a content hash, so browsers may cache it forever. */
export interface Asset {
  readonly name: string;
  readonly contentType: string;
  readonly text: string;
  /** The gzipped text, compressed on first use. */
  readonly compressed: () => Promise<Buffer>;
}

/** Loads the page's files, among them 9 MB of GraphiQL and its workers, on first use. They stay in memory. */
export const loadAssets = once(async () => {
  const { js, css, editorWorkerService, graphqlWorker, jsonWorker } =
    await import("@graphql-yoga/render-graphiql/graphiql");
  const ownScript = (name: string) => asset(name, "js", readOwn(`${name}.js`));
  return {
    scripts: [...BEFORE.map(ownScript), asset("graphiql", "js", js), ...AFTER.map(ownScript)],
    named: {
      graphiqlStyle: asset("graphiql", "css", css),
      editorWorker: asset("editor-worker", "js", editorWorkerService),
      graphqlWorker: asset("graphql-worker", "js", graphqlWorker),
      jsonWorker: asset("json-worker", "js", jsonWorker),
      pageStyle: asset("page", "css", readOwn("page.css")),
      icon: asset("icon", "svg", readOwn("icon.svg")),
    },
  };
});

/** Reads a file of the page. Not by promises: since Node 26 their errors do not tell where a file was missed. */
export const readOwn = (name: string): string => readFileSync(new URL(name, OWN_FILES), "utf8");

function asset(name: string, extension: keyof typeof TYPES, text: string): Asset {
  const hash = createHash("sha256").update(text).digest("base64url").slice(0, 16);
  return {
    name: `${name}.${hash}.${extension}`,
    contentType: TYPES[extension],
    text,
    compressed: once(() => compress(text)),
  };
}
