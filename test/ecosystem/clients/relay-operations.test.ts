import { readdirSync, readFileSync } from "node:fs";
import { Kind, type NameNode, parse, print, visit } from "graphql";
import { expect, test } from "vitest";
import { startRelay } from "./relay-frontend.ts";

const OPERATIONS = new URL("../../../schema/operations/", import.meta.url);
const SUFFIXES = { query: "Query", mutation: "Mutation", subscription: "Subscription" };

/**
 * A bundled operation as a module of Relay, in which all names begin with the name of the module: `BookmarksQuery`, `Bookmarks_KeptRun`.
 */
function toModule(text: string) {
  const document = parse(text);
  const operation = document.definitions.find(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  if (operation?.kind !== Kind.OPERATION_DEFINITION || !operation.name) throw new TypeError(text);
  const module = operation.name.value;
  const name = module + SUFFIXES[operation.operation];
  const inModule = (given: NameNode) => ({ ...given, value: `${module}_${given.value}` });
  const renamed = visit(document, {
    OperationDefinition: (node) => ({ ...node, name: { ...operation.name, value: name } }),
    FragmentDefinition: (node) => ({ ...node, name: inModule(node.name) }),
    FragmentSpread: (node) => ({ ...node, name: inModule(node.name) }),
  });
  return { module, name, document: print(renamed) };
}

test("the Relay compiler accepts every bundled operation", async () => {
  const modules = readdirSync(OPERATIONS)
    .filter((file) => file.endsWith(".graphql"))
    .map((file) => toModule(readFileSync(new URL(file, OPERATIONS), "utf8")));
  const { artifact } = await startRelay(
    Object.fromEntries(modules.map(({ module, document }) => [module, document])),
  );
  for (const { name } of modules) await expect(artifact(name)).resolves.toBeDefined();
});
