import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { FOLDER } from "../../installation.ts";
import { compress } from "../compression.ts";

/** The gateway's own page files. */
const OWN_FILES = new URL("src/http/graphiql/page/", FOLDER);

/** A file that the page loads. Its name contains a content hash, so browsers may cache it forever. */
interface Asset {
  readonly name: string;
  readonly contentType: string;
  readonly text: string;
  /** The gzipped text, compressed on first use. */
  readonly compressed: () => Promise<Buffer>;
}

export type AssetKey = keyof Awaited<ReturnType<typeof readAssets>>;

/** Loads the page's files, among them 9 MB of GraphiQL and its workers, on first use. They stay in memory. */
export const loadAssets = once(readAssets);

// Not by promises: since Node 26 their errors do not tell where a file was missed.
const readOwn = (name: string): string => readFileSync(new URL(name, OWN_FILES), "utf8");

async function readAssets() {
  const { js, css, editorWorkerService, graphqlWorker, jsonWorker } =
    await import("@graphql-yoga/render-graphiql/graphiql");
  return {
    graphiql: script("graphiql", js),
    graphiqlStyle: style("graphiql", css),
    editorWorker: script("editor-worker", editorWorkerService),
    graphqlWorker: script("graphql-worker", graphqlWorker),
    jsonWorker: script("json-worker", jsonWorker),
    waterfall: script("waterfall", readOwn("waterfall.js")),
    explain: script("explain", readOwn("explain.js")),
    editors: script("editors", readOwn("editors.js")),
    controls: script("controls", readOwn("controls.js")),
    operations: script("operations", readOwn("operations.js")),
    share: script("share", readOwn("share.js")),
    storage: script("storage", readOwn("storage.js")),
    pieces: script("pieces", readOwn("pieces.js")),
    sending: script("sending", readOwn("sending.js")),
    page: script("page", readOwn("page.js")),
    pageStyle: style("page", readOwn("page.css")),
    icon: asset("icon", readOwn("icon.svg"), {
      extension: "svg",
      contentType: "image/svg+xml",
    }),
  };
}

const script = (name: string, text: string): Asset =>
  asset(name, text, { extension: "js", contentType: "text/javascript; charset=utf-8" });

const style = (name: string, text: string): Asset =>
  asset(name, text, { extension: "css", contentType: "text/css; charset=utf-8" });

function asset(
  name: string,
  text: string,
  { extension, contentType }: { readonly extension: string; readonly contentType: string },
): Asset {
  const hash = createHash("sha256").update(text).digest("base64url").slice(0, 16);
  return {
    name: `${name}.${hash}.${extension}`,
    contentType,
    text,
    compressed: once(() => compress(text)),
  };
}

/** Memoizes an async function. A rejection is not kept. */
function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loaded: Promise<Value> | null = null;
  const reset = (error: unknown): never => {
    loaded = null;
    throw error;
  };
  return () => (loaded ??= load().catch(reset));
}
