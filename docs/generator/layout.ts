import { readdirSync, readFileSync } from "node:fs";

const ROOT = new URL("../../", import.meta.url);

/** The folders of the code, from the ground up, and what each holds. */
const FOLDERS = {
  "src/errors.ts": "the error table: what each code means to every part of the gateway",
  "src/request-scope.ts": "one request of a caller: its token, its deadline, what ends with it",
  "src/nesting.ts": "how deep JSON may be nested",
  "src/transient.ts": "collections whose members come and go with requests",
  "src/base64url.ts": "text of ids and cursors",
  "src/folder.ts": "where the gateway is installed, and its version",
  "src/log.ts": "what takes log lines",
  "src/node-flags.ts": "the flags of Node with which the gateway runs",
  "src/engine": "documents, limits, plan, execution, errors; knows neither REST nor the kinds of records",
  "src/rest/api": "the service as data: endpoints, records, references, profiles of servers",
  "src/rest/client": "one upstream request: admission, retry, breaker, transport, error mapping",
  "src/rest/session":
    "the reads of one GraphQL request: batches, pages, log windows, and what requests of a token share",
  "src/live": "polling for subscriptions: when what is read, with which token, for whom",
  "src/graphql/core": "builder, kinds, ids, resources, the sources of fields, prefetching",
  "src/graphql/operations": "mutations and root fields of all kinds",
  "src/graphql/types": "one file a type",
  "src/graphql/subscriptions": "the fields of `Subscription`: what each reads and tells",
  "src/graphql/federation": "entities for routers, renamed types",
  "src/graphql/schema.ts": "all of them as one schema",
  "src/observability": "metrics, log lines, spans, reports of unexpected errors, what an operation costs",
  "src/http": "HTTP server, router, GraphQL over HTTP, downloads, GraphiQL, tools for agents",
  "src/config": "the settings: `config.ts` lists them, `config/` reads their values",
  "src/shared-documents.ts": "persisted documents that processes share by Redis",
  "src/gateway.ts": "puts the parts together",
  "src/serve.ts": "a gateway that listens and drains",
  "src/workers": "several processes that share a port: start, replacement, drain, metrics",
  "src/demo": "the embedded demo service",
  "src/upstream.ts": "the service behind the gateway, or the demo",
  "src/welcome.ts": "what is printed when the gateway is ready",
  "src/main.ts": "starts and stops the process, alone or with workers",
  "src/settings.ts": "the type of the settings of `createGateway`",
  "src/index.ts": "the module `rungraph`: a gateway for a server of one's own",
  "src/print.ts": "what the command prints: the schema, and whether the settings can be used",
  "src/cli.ts": "the command `rungraph`",
} as const satisfies Record<string, string>;

/** What `query ($id: ID!) { experiment(id: $id) { id status } }` passes, and what each file does with the id. */
const ROAD = {
  "src/http/graphql/handler.ts": "parses the body; in the end encodes the result",
  "src/engine/engine.ts": "checks the document against the limits, finds its plan, masks errors",
  "src/engine/plan/plan.ts": "coerces the variables, starts at the root",
  "src/engine/plan/run.ts": "calls the resolver with its arguments, waits for its value",
  "src/graphql/core/look-up.ts": "resolves `experiment(id:)`",
  "src/graphql/core/ids.ts": "turns the global id or dotted name into a resource with its address",
  "src/graphql/core/prefetch.ts": "loads what is selected of the resource, at least a proof that it exists",
  "src/graphql/core/resource.ts": "merges what is read into what was loaded",
  "src/graphql/core/kinds.ts": "names the endpoint that reads an experiment",
  "src/rest/session/batches.ts":
    "fills the path; equal reads share one request, also with other operations of the token",
  "src/rest/client/call.ts": "waits for the request's turn, retries it when that can help",
  "src/rest/client/attempt.ts": "builds the request, counts it, maps its failure",
  "src/rest/client/transport.ts": "sends it and collects the response",
  "src/rest/client/response.ts": "reads the record or throws the error of the status",
  "src/engine/plan/complete.ts": "writes the selected fields into the result",
} as const satisfies Record<string, string>;

export const road = () => Object.entries(ROAD).map(([file, does]) => ({ file, does }));

/** The files of `src` with the files of `src` that each imports. */
export function importGraph(): ReadonlyMap<string, readonly string[]> {
  const files = readdirSync(new URL("src/", ROOT), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `src/${name}`);
  return new Map(
    files.toSorted().map((file) => {
      const url = new URL(file, ROOT);
      const text = readFileSync(url, "utf8");
      const imports = [...text.matchAll(/(?:\bfrom|\bimport|\bimport\() ?"(\.[^"]+)"/g)].map(
        ([, path = ""]) => new URL(path, url).href.slice(ROOT.href.length),
      );
      return [file, [...new Set(imports)].toSorted()];
    }),
  );
}

/** The row of the table that holds a file: its folder, or the file itself. */
export const folderOf = (file: string): string | undefined =>
  Object.keys(FOLDERS).find((folder) =>
    folder.endsWith(".ts") ? file === folder : file.startsWith(`${folder}/`) || file === `${folder}.ts`,
  );

/** Each row with the rows that its files import. */
export function layout() {
  const graph = importGraph();
  return Object.entries(FOLDERS).map(([folder, holds]) => {
    const imported = new Set(
      [...graph].filter(([file]) => folderOf(file) === folder).flatMap(([, files]) => files.map(folderOf)),
    );
    const imports = Object.keys(FOLDERS).filter((each) => each !== folder && imported.has(each));
    return { folder, holds, imports };
  });
}
