import type { IncomingMessage, ServerResponse } from "node:http";
import type { TypeNames } from "../../graphql/core/type-names.ts";
import { acceptsGzip } from "../compression.ts";
import { loadAssets } from "./assets.ts";
import { documentOf } from "./document.ts";
import { signInOperation, tabsOf } from "./tabs.ts";

interface Settings {
  readonly names: TypeNames;
  /** A token of the demo, with which the page begins; null in front of a real server. */
  readonly exampleToken: string | null;
  readonly onFault: (fault: unknown) => void;
}

/** Serves the page; gives false when a request is not for it. */
export type Page = (request: IncomingMessage, response: ServerResponse) => boolean;

const ASSETS = "/graphiql/";

/**
 * The page holds a token, so nothing but its own scripts runs in it, it sends nothing to other origins and stands in
 * no frame. Styles are an exception: the editor makes them as it goes.
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

/** GraphiQL for browsers that open `/graphql`, and the files that it loads. */
export function createPage({ names, exampleToken, onFault }: Settings): Page {
  const isDemo = exampleToken !== null;
  const settings = {
    token: exampleToken,
    signIn: signInOperation(names),
    tabs: tabsOf(names, { isDemo }),
    storagePrefix: isDemo ? "rungraph-demo:" : "rungraph:",
  };

  const sendDocument = async (response: ServerResponse): Promise<void> => {
    const assets = await loadAssets();
    const html = documentOf(settings, (key) => `graphiql/${assets[key].name}`);
    response
      .writeHead(200, {
        ...SAFE_HEADERS,
        "content-type": "text/html; charset=utf-8",
        "cache-control": "private, no-store",
      })
      .end(html);
  };

  const guarded = (response: ServerResponse, sending: Promise<void>): void => {
    sending.catch((fault: unknown) => {
      onFault(fault);
      response.destroy();
    });
  };

  return (request, response) => {
    if (!isRead(request)) return false;
    const [path = ""] = (request.url ?? "").split("?", 1);
    if (path.startsWith(ASSETS)) guarded(response, sendAsset(response, path.slice(ASSETS.length)));
    else if (path === "/graphql" && request.headers.accept?.includes("text/html"))
      guarded(response, sendDocument(response));
    else return false;
    return true;
  };
}

async function sendAsset(response: ServerResponse, name: string): Promise<void> {
  const asset = Object.values(await loadAssets()).find((each) => each.name === name);
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
