import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { compress } from "../compression.ts";

/** Our own files of the page, beside the sources as beside the build. */
const OWN_FILES = new URL("../../../page/", import.meta.url);

/** A file that the page loads. Its name holds a hash of its content, so browsers may keep it for ever. */
interface Asset {
  readonly name: string;
  readonly contentType: string;
  readonly text: string;
  /** Compressed when it is asked for the first time. */
  readonly compressed: () => Promise<Buffer>;
}

export type AssetKey = keyof Awaited<ReturnType<typeof readAssets>>;

/**
 * Loads the files of the page: ours, and 9 MB of GraphiQL with its workers. They stay in memory, so this is done once,
 * when the page is opened for the first time.
 */
export const loadAssets = once(readAssets);

async function readAssets() {
  const { js, css, editorWorkerService, graphqlWorker, jsonWorker } =
    await import("@graphql-yoga/render-graphiql/graphiql");
  return {
    graphiql: script("graphiql", js),
    graphiqlStyle: style("graphiql", css),
    editorWorker: script("editor-worker", editorWorkerService),
    graphqlWorker: script("graphql-worker", graphqlWorker),
    jsonWorker: script("json-worker", jsonWorker),
    page: script("page", await readFile(new URL("page.js", OWN_FILES), "utf8")),
    pageStyle: style("page", await readFile(new URL("page.css", OWN_FILES), "utf8")),
    icon: asset("icon", await readFile(new URL("icon.svg", OWN_FILES), "utf8"), {
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

/** Does something when it is asked for the first time, and again only where it failed. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | null = null;
  const tryAgain = (fault: unknown): never => {
    made = null;
    throw fault;
  };
  return () => (made ??= make().catch(tryAgain));
}
