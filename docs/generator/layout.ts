import { readdirSync, readFileSync } from "node:fs";

const ROOT = new URL("../../", import.meta.url);

/** The folders of the code, from the ground up, and what each holds. */
const FOLDERS = {
  "src/errors.ts": "the error table: what each code means to every part of the gateway",
  "src/request-scope.ts": "one request of a caller: its token, its deadline, what ends with it",
  "src/engine": "documents, limits, plan, execution, errors; knows neither REST nor the kinds of records",
  "src/rest/api": "the service as data: endpoints, records, references, profiles of servers",
  "src/rest/client": "one upstream request: admission, retry, breaker, transport, error mapping",
  "src/rest/session": "the reads of one GraphQL request: cache, batches, pages, log windows",
  "src/graphql/core": "builder, kinds, ids, resources, the sources of fields, prefetching",
  "src/graphql/operations": "mutations and root fields of all kinds",
  "src/graphql/types": "one file a type",
  "src/graphql/federation": "entities for routers, renamed types",
  "src/graphql/schema.ts": "all of them as one schema",
  "src/observability": "metrics, log lines, spans, reports of unexpected errors",
  "src/http": "HTTP server, router, GraphQL over HTTP, downloads, GraphiQL",
  "src/config": "how variables become settings; `config.ts` lists them",
  "src/gateway.ts": "puts the parts together",
  "src/main.ts": "starts and stops the process",
  "src/demo": "the embedded demo service; imports nothing of the gateway",
} as const satisfies Record<string, string>;

/** What `experiment(id:)` passes from the request to the wire and back. */
const ROAD = [
  "src/http/router.ts",
  "src/http/graphql/handler.ts",
  "src/engine/engine.ts",
  "src/engine/execution.ts",
  "src/engine/plan/plan.ts",
  "src/engine/plan/run.ts",
  "src/graphql/core/look-up.ts",
  "src/graphql/core/ids.ts",
  "src/graphql/core/resource.ts",
  "src/rest/session/session.ts",
  "src/rest/session/batching.ts",
  "src/rest/client/client.ts",
  "src/rest/client/transport.ts",
  "src/rest/client/response.ts",
  "src/engine/plan/complete.ts",
] as const;

export const road = (): readonly string[] => ROAD;

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

/** The folder of the table that holds a file. */
export function folderOf(file: string): string {
  const folders = [...Object.keys(FOLDERS), "src"];
  const found = folders.find((folder) => file === folder || file.startsWith(`${folder}/`));
  return found === "src" || found === undefined ? file.replace("src/config.ts", "src/config") : found;
}

/** Each folder with the folders that its files import. */
export function layout() {
  const graph = importGraph();
  return Object.entries(FOLDERS).map(([folder, holds]) => {
    const imported = [...graph]
      .filter(([file]) => folderOf(file) === folder)
      .flatMap(([, imports]) => imports.map(folderOf));
    const order = Object.keys(FOLDERS);
    const imports = [...new Set(imported)].filter((each) => each !== folder);
    return { folder, holds, imports: imports.toSorted((a, b) => order.indexOf(a) - order.indexOf(b)) };
  });
}
