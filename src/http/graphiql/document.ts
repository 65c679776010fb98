import type { AssetKey } from "./assets.ts";
import type { PageOperation } from "./operations.ts";

/** Settings that `page/page.js` reads. */
export interface PageSettings {
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

/** In the order in which the page runs them: the last one uses the others. */
const SCRIPTS = [
  "editors",
  "controls",
  "graphiql",
  "waterfall",
  "explain",
  "storage",
  "pieces",
  "sending",
  "operations",
  "share",
  "page",
] as const satisfies readonly AssetKey[];

/** Renders the page. URLs are relative because a proxy may serve the gateway under a path prefix. */
export function documentOf(settings: PageSettings, hrefOf: (key: AssetKey) => string): string {
  const workers = {
    editorWorkerService: hrefOf("editorWorker"),
    graphql: hrefOf("graphqlWorker"),
    json: hrefOf("jsonWorker"),
  };
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Rungraph</title>
    <link rel="icon" href="${hrefOf("icon")}" />
    <link rel="stylesheet" href="${hrefOf("graphiqlStyle")}" />
    <link rel="stylesheet" href="${hrefOf("pageStyle")}" />
  </head>
  <body>
    <header>
      <h1><img src="${hrefOf("icon")}" alt="" />Rungraph</h1>
      <details id="operations" class="menu">
        <summary>Operations</summary>
        <div class="panel">
          <label>Find an operation, or one that was sent <input type="search" autocomplete="off" /></label>
          <div class="found"></div>
        </div>
      </details>
      <details id="share" class="menu">
        <summary>Share</summary>
        <div class="panel">
          <button data-as="link">Copy link</button>
          <button data-as="curl">Copy as cURL</button>
          <button data-as="javascript">Copy as JavaScript</button>
          <button data-as="python">Copy as Python</button>
          <p role="status"></p>
        </div>
      </details>
      <details id="account" class="menu">
        <summary>Sign in</summary>
        <div class="panel">
          <form id="sign-in">
            <label>User name <input name="username" autocomplete="username" required /></label>
            <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>
            <button>Sign in</button>
          </form>
          <form id="give-token">
            <label>or a token <input name="token" type="password" autocomplete="off" required /></label>
            <button>Use token</button>
          </form>
          <form id="sign-out"><button>Sign out</button></form>
          <p role="status"></p>
        </div>
      </details>
    </header>
    <dialog id="ask" aria-labelledby="ask-title">
      <form method="dialog">
        <h2 id="ask-title"></h2>
        <p></p>
        <pre></pre>
        <button value="run">Run it</button>
        <button value="" autofocus>Cancel</button>
      </form>
    </dialog>
    <main id="root"><noscript>This page needs JavaScript.</noscript></main>
    <script type="application/json" id="settings">${asInlineJson({ ...settings, workers })}</script>
    ${SCRIPTS.map((key) => `<script src="${hrefOf(key)}"></script>`).join("\n    ")}
  </body>
</html>
`;
}

/** Encodes JSON as the content of a script element, which only a `<` can end. */
const asInlineJson = (value: unknown): string => JSON.stringify(value).replaceAll("<", String.raw`\u003c`);
