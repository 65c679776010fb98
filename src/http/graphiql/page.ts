import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLSchema,
  isInputObjectType,
  isObjectType,
} from "graphql";
import type { InputExtensions } from "../../engine/field-extensions.ts";
import { FOLDER } from "../../package-info.ts";
import { acceptsGzip, compress } from "../response-writer.ts";
import { CACHE_CONTROL_PRIVATE } from "../graphql/encoding.ts";
import { lazy } from "../lazy.ts";
import type { GatewayDependencies } from "../dependencies.ts";
import { PATHS, pathOf } from "../paths.ts";
import { sendText } from "../text-response.ts";
import { pageOperations, signInOperation, withoutSentences } from "../bundled-operations.ts";

/** Matches mutations that delete records or change the permissions of other users. */
const DESTRUCTIVE = /^(?:delete|activateUser|grantSuperuser|revokeSuperuser)/;

/** Matches sentences of descriptions that say when a mutation can be sent, not what it does. */
const CONDITIONS = /^(?:Repeating|Requires) /;

/**
 * The page contains a token, so it runs only its own scripts, connects to no other origin and cannot be framed. Inline
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

/**
 * Serves GraphiQL to browsers that open `/graphql`, and the files that the page loads. `exampleToken` is a token of the demo with which the
 * page starts; null for a real server.
 */
export function createPage(dependencies: GatewayDependencies, exampleToken: string | null) {
  const { schema, rename, shared, isExplainable, onError } = dependencies;
  const isDemo = exampleToken !== null;
  // With the demo, the first tab shows a search, or a run with its build and nodes. Its document has no variables, because GraphiQL does
  // not load the variables of the first default tab (graphql/graphiql#3392). Its lines are short enough for the editor on a tablet.
  const shown = shared.server.capabilities.includes("METRIC_ORDERS") ? "search" : "run";
  /** The data that `page/page.js` reads. */
  const settings = () => ({
    /** Null when users must sign in. */
    token: exampleToken,
    signIn: signInOperation(rename),
    /** The document of the first tab. */
    welcome: readOwn(`welcome-${isDemo ? shown : "start"}.graphql`),
    operations: pageOperations(rename, { isDemo }),
    /** The mutations that the page sends only after a confirmation, by name, each with a description of its effect. */
    destructive: Object.fromEntries(
      Object.values(schema.getMutationType()?.getFields() ?? {})
        .filter(({ name }) => DESTRUCTIVE.test(name))
        .map(({ name, description }) => [name, withoutSentences(description ?? "", CONDITIONS)]),
    ),
    secretFields: secretFieldsOf(schema),
    isExplainable,
    /** Prefix of GraphiQL's keys in the browser's storage. It separates the tabs of the demo from the tabs of a real server. */
    storagePrefix: isDemo ? "rungraph-demo:" : "rungraph:",
  });

  const loadDocument = lazy(async () => documentOf(settings(), await loadAssets()));

  const sendDocument = async (response: ServerResponse): Promise<void> => {
    const head = { "content-type": "text/html; charset=utf-8", "cache-control": CACHE_CONTROL_PRIVATE };
    const html = await loadDocument();
    response.writeHead(200, { ...SAFE_HEADERS, ...head }).end(html);
  };

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    const { url = "" } = request;
    const path = pathOf(request);
    const isDocument = path === PATHS.graphql && request.headers.accept?.includes("text/html");
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead || !(isDocument || path.startsWith(PATHS.pageFiles))) return false;
    // Removes the slash at the end of the path, because the page refers to its files by relative paths.
    if (isDocument && url.startsWith(`${path}/`)) {
      response
        .writeHead(307, { location: `..${path}${url.slice(path.length + 1)}`, "cache-control": "no-store" })
        .end();
      return true;
    }
    const name = path.slice(PATHS.pageFiles.length);
    const sending = isDocument ? sendDocument(response) : sendAsset(response, name);
    sending.catch((error: unknown) => {
      onError(error);
      response.destroy();
    });
    return true;
  };
}

/** Names of the fields that have a secret among their arguments or in an input object. */
function secretFieldsOf(schema: GraphQLSchema): string[] {
  // The recursion ends, because no input type contains itself.
  const isSecret = ({ extensions, type }: GraphQLArgument | GraphQLInputField): boolean => {
    const named = getNamedType(type);
    const fields = isInputObjectType(named) ? Object.values(named.getFields()) : [];
    return (extensions as InputExtensions).isSecret === true || fields.some(isSecret);
  };
  const objects = Object.values(schema.getTypeMap()).filter(isObjectType);
  const fields = objects.flatMap((type) => Object.values(type.getFields()));
  return fields.filter(({ args }) => args.some(isSecret)).map(({ name }) => name);
}

/** Renders the page. It refers to its files by relative paths, because a proxy may serve the gateway under a path prefix. */
function documentOf(settings: object, assets: ReadonlyMap<string, Asset>): string {
  const hrefOf = (file: string): string => `graphiql/${assets.get(file)?.name}`;
  const workers = {
    editorWorkerService: hrefOf("editor-worker.js"),
    graphql: hrefOf("graphql-worker.js"),
    json: hrefOf("json-worker.js"),
  };
  // A `<` is escaped, because only `<` can end a script element.
  const json = JSON.stringify({ ...settings, workers }).replaceAll("<", String.raw`\u003c`);
  return readOwn("page.html").replaceAll(/\{\{([\w.-]+)\}\}/g, (_, file: string) =>
    file === "settings" ? json : hrefOf(file),
  );
}

async function sendAsset(response: ServerResponse, name: string): Promise<void> {
  const found = [...(await loadAssets()).values()].find((each) => each.name === name);
  if (!found) return sendText(response, 404, "not found\n");
  const isCompressed = acceptsGzip(response.req.headers["accept-encoding"]);
  const body = isCompressed ? await found.compressed() : found.plain;
  response
    .writeHead(200, {
      ...SAFE_HEADERS,
      "content-type": found.contentType,
      "content-length": body.length,
      "cache-control": "public, max-age=31536000, immutable",
      vary: "accept-encoding",
      ...(isCompressed && { "content-encoding": "gzip" }),
    })
    .end(body);
}

const OWN_FILES = new URL("src/http/graphiql/page/", FOLDER);

const TYPES: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** A file that the page loads. Its name contains a content hash, so browsers may cache it forever. */
interface Asset {
  readonly name: string;
  readonly contentType: string;
  /** The file, one buffer for all responses. */
  readonly plain: Buffer;
  /** The gzipped file, compressed on first use. */
  readonly compressed: () => Promise<Buffer>;
}

/** Loads the page's files, including 9 MB of GraphiQL and its workers, on first use. The files stay in memory. */
const loadAssets = lazy(async (): Promise<ReadonlyMap<string, Asset>> => {
  const { js, css, editorWorkerService, graphqlWorker, jsonWorker } =
    await import("@graphql-yoga/render-graphiql/graphiql");
  const own = readdirSync(OWN_FILES).filter((file) => /\.(?:js|css|svg)$/.test(file));
  const texts = {
    ...Object.fromEntries(own.map((file) => [file, readOwn(file)])),
    "graphiql.js": js,
    "graphiql.css": css,
    "editor-worker.js": editorWorkerService,
    "graphql-worker.js": graphqlWorker,
    "json-worker.js": jsonWorker,
  };
  return new Map(Object.entries(texts).map(([file, text]) => [file, asset(file, text)]));
});

/** Reads a file of the page synchronously, because errors of the asynchronous functions have no stack since Node 26. */
const readOwn = (name: string): string => readFileSync(new URL(name, OWN_FILES), "utf8");

function asset(file: string, text: string): Asset {
  const [name, extension = ""] = file.split(".");
  const plain = Buffer.from(text);
  const digest = hash("sha256", plain, "base64url").slice(0, 16);
  return {
    name: `${name}.${digest}.${extension}`,
    contentType: TYPES[extension] ?? "",
    plain,
    compressed: lazy(() => compress(plain)),
  };
}
