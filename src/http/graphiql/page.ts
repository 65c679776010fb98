import type { IncomingMessage, ServerResponse } from "node:http";
import type { GraphQLSchema } from "graphql";
import type { Capability } from "../../rest/api/server.ts";
import { acceptsGzip } from "../compression.ts";
import { PRIVATE } from "../graphql/encoding.ts";
import { once } from "../once.ts";
import { type PageOperation, pageOperations, type Rename, signInOperation } from "../shipped-operations.ts";
import { type Asset, loadAssets, readOwn } from "./assets.ts";

interface Settings {
  readonly schema: GraphQLSchema;
  readonly rename: Rename;
  /** A token of the demo that the page starts with; null for a real server. */
  readonly exampleToken: string | null;
  /** What the service offers now. */
  readonly capabilities: readonly Capability[];
  /** Whether the page may ask what an operation costs. */
  readonly isExplainable: boolean;
  readonly onError: (error: unknown) => void;
}

/** Settings that `page/page.js` reads. */
interface PageSettings {
  /** The initial token; null when users must sign in. */
  readonly token: string | null;
  readonly signIn: string;
  /** The document of the first tab. */
  readonly welcome: string;
  readonly operations: readonly PageOperation[];
  /** Names of mutations that the page asks about before it sends them. */
  readonly careful: readonly string[];
  /** Whether the page may ask what an operation costs. */
  readonly isExplainable: boolean;
  /** Prefix of GraphiQL's keys in the browser's storage: it separates the demo's tabs from those of a real server. */
  readonly storagePrefix: string;
}

/** What deletes, or changes what other users may do. */
const CAREFUL = /^(?:delete|activateUser|grantSuperuser|revokeSuperuser)/;

/** Serves the page. Returns false when the request is for something else. */
export type Page = (request: IncomingMessage, response: ServerResponse) => boolean;

const ASSETS = "/graphiql/";

/**
 * The page holds a token, so it runs only its own scripts, connects to no other origin and cannot be framed. Inline
 * styles are allowed because the editor generates them.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "connect-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const SAFE_HEADERS = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

const isRead = ({ method }: IncomingMessage): boolean => method === "GET" || method === "HEAD";

/** Serves GraphiQL to browsers that open `/graphql`, and the files that it loads. */
export function createPage({
  schema,
  rename,
  exampleToken,
  capabilities,
  isExplainable,
  onError,
}: Settings): Page {
  const isDemo = exampleToken !== null;
  // With the demo a search, or at least a run of it, with build and machines. Without variables, because GraphiQL does not load
  // those of the first default tab (graphql/graphiql#3392). Its lines fit the editor of a tablet.
  const shown = capabilities.includes("METRIC_ORDERS") ? "search" : "run";
  const welcome = readOwn(`welcome-${isDemo ? shown : "start"}.graphql`);
  const settings: PageSettings = {
    token: exampleToken,
    signIn: signInOperation(rename),
    operations: pageOperations(rename, { isDemo }),
    careful: Object.keys(schema.getMutationType()?.getFields() ?? {}).filter((name) => CAREFUL.test(name)),
    isExplainable,
    storagePrefix: isDemo ? "rungraph-demo:" : "rungraph:",
    welcome,
  };

  const loadDocument = once(async () => documentOf(settings, await loadAssets()));

  const sendDocument = async (response: ServerResponse): Promise<void> => {
    const html = await loadDocument();
    response
      .writeHead(200, {
        ...SAFE_HEADERS,
        "content-type": "text/html; charset=utf-8",
        "cache-control": PRIVATE,
      })
      .end(html);
  };

  return (request, response) => {
    const [path = ""] = (request.url ?? "").split("?", 1);
    const isDocument = path === "/graphql" && request.headers.accept?.includes("text/html");
    if (!isRead(request) || !(isDocument || path.startsWith(ASSETS))) return false;
    const sending = isDocument ? sendDocument(response) : sendAsset(response, path.slice(ASSETS.length));
    sending.catch((error: unknown) => {
      onError(error);
      response.destroy();
    });
    return true;
  };
}

/** Relative, because a proxy may serve the gateway under a path prefix. */
const hrefOf = ({ name }: Asset): string => `graphiql/${name}`;

/** Renders the page. */
function documentOf(settings: PageSettings, { scripts, named }: Awaited<ReturnType<typeof loadAssets>>) {
  const workers = {
    editorWorkerService: hrefOf(named.editorWorker),
    graphql: hrefOf(named.graphqlWorker),
    json: hrefOf(named.jsonWorker),
  };
  const parts: Readonly<Record<string, string>> = {
    icon: hrefOf(named.icon),
    graphiqlStyle: hrefOf(named.graphiqlStyle),
    pageStyle: hrefOf(named.pageStyle),
    scripts: scripts.map((script) => `<script src="${hrefOf(script)}"></script>`).join("\n    "),
    // Only a `<` can end a script element.
    settings: JSON.stringify({ ...settings, workers }).replaceAll("<", String.raw`\u003c`),
  };
  return readOwn("page.html").replaceAll(/\{\{(\w+)\}\}/g, (_, key: string) => parts[key] ?? "");
}

async function sendAsset(response: ServerResponse, name: string): Promise<void> {
  const { scripts, named } = await loadAssets();
  const asset = [...scripts, ...Object.values(named)].find((each) => each.name === name);
  if (!asset) {
    response.writeHead(404, { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" });
    response.end("not found\n");
    return;
  }
  const isCompressed = acceptsGzip(response.req.headers["accept-encoding"]);
  const body = isCompressed ? await asset.compressed() : Buffer.from(asset.text);
  response
    .writeHead(200, {
      ...SAFE_HEADERS,
      "content-type": asset.contentType,
      "content-length": body.length,
      "cache-control": "public, max-age=31536000, immutable",
      vary: "accept-encoding",
      ...(isCompressed && { "content-encoding": "gzip" }),
    })
    .end(body);
}
