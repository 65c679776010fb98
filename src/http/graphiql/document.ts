import type { AssetKey } from "./assets.ts";
import type { Tab } from "./tabs.ts";

/** What `page/page.js` reads. */
export interface PageSettings {
  /** The token that the page begins with; null where everybody must sign in. */
  readonly token: string | null;
  readonly signIn: string;
  readonly tabs: readonly Tab[];
  /** Before the names of what GraphiQL keeps in the browser: tabs of the demo are not those of a real server. */
  readonly storagePrefix: string;
}

/** The HTML of the page. Addresses are relative: a proxy may serve the gateway below a path of its own. */
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
      <details id="account">
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
    <main id="root"><noscript>This page needs JavaScript.</noscript></main>
    <script type="application/json" id="settings">${asInlineJson({ ...settings, workers })}</script>
    <script src="${hrefOf("graphiql")}"></script>
    <script src="${hrefOf("page")}"></script>
  </body>
</html>
`;
}

/** JSON as the content of a script element: only a `<` can end it. */
const asInlineJson = (value: unknown): string => JSON.stringify(value).replaceAll("<", String.raw`\u003c`);
