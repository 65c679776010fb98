import { readdirSync, readFileSync } from "node:fs";
import type { GraphiQLOptions } from "graphql-yoga";
import { renameDocument } from "./graphql/rename.ts";
import type { TypeNames } from "./graphql/type-names.ts";

/** Our own operations, beside the sources as beside the build. */
const OPERATIONS = new URL("../schema/operations/", import.meta.url);

/**
 * GraphiQL with a tab for each operation of `schema/operations`, its variables filled with records of the demo.
 * Headers are never stored by the page: they hold a token.
 */
export function graphiqlOptions(exampleToken: string | null, names: TypeNames): GraphiQLOptions {
  const variables = JSON.parse(readFileSync(new URL("demo-variables.json", OPERATIONS), "utf8")) as Record<
    string,
    object
  >;
  const headers = JSON.stringify({ Authorization: `token ${exampleToken ?? "<your token>"}` }, null, 2);
  return {
    title: "Rungraph",
    headers,
    defaultHeaders: headers,
    shouldPersistHeaders: false,
    credentials: "omit",
    defaultTabs: readdirSync(OPERATIONS)
      .filter((name) => name.endsWith(".graphql"))
      .toSorted()
      .map((name) => ({
        query: renameDocument(readFileSync(new URL(name, OPERATIONS), "utf8"), names),
        variables: JSON.stringify(variables[name] ?? {}, null, 2),
        headers,
      })),
  };
}
