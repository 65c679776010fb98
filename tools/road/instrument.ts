import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseAst } from "vite";
import { COMPILER } from "../../test/support/typescript.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** What a gateway finds in its folder. */
const FOUND = ["node_modules", "package.json", "schema", "src"];

/** A function of `src` as it stands in the code. */
export interface Place {
  readonly file: string;
  /** As the code names it; a function without a name has that of the one around it: `createEngine.(run)`. */
  readonly name: string;
}

/** The code of a gateway that notes each call of its functions. The demo service notes none. */
export interface Instrumented {
  /** Loads a file of `src`. */
  readonly load: <Module>(file: string) => Promise<Module>;
  /** Empties the list of calls. */
  readonly forget: () => void;
  /** The calls since then, in their order. */
  readonly calls: () => readonly Place[];
  readonly remove: () => Promise<void>;
}

/** A node of an ESTree: what the parser gives for JavaScript. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

const FUNCTIONS = new Set(["ArrowFunctionExpression", "FunctionDeclaration", "FunctionExpression"]);

/** The name of a node, or of what it is assigned to. */
function nameOf(node: Node | undefined): string | undefined {
  for (const key of ["id", "key", "left"]) {
    const named = node?.[key];
    if (!isNode(named)) continue;
    if (typeof named["name"] === "string") return named["name"];
  }
  return undefined;
}

interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** Puts a counter in front of each function's code. `numberOf` numbers a function by its name. */
function instrument(code: string, numberOf: (name: string) => number): string {
  const insertions: Insertion[] = [];
  const visit = (node: Node, parent: Node | undefined, around: string): void => {
    let name = around;
    if (FUNCTIONS.has(node.type)) {
      const own = nameOf(node) ?? nameOf(parent);
      name = [around, own ?? "(function)"].filter(Boolean).join(".");
      // Every function has a body.
      const body = node["body"] as Node;
      const count = `__called(${numberOf(name)})`;
      if (body.type === "BlockStatement") insertions.push({ at: body.start + 1, text: `${count};` });
      else insertions.push({ at: body.start, text: `(${count},` }, { at: body.end, text: ")" });
    } else if (node.type === "ClassDeclaration") name = [around, nameOf(node)].filter(Boolean).join(".");
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child, node, name);
  };
  visit(parseAst(code) as unknown as Node, undefined, "");
  let [result, from] = ["", 0];
  for (const { at, text } of insertions.toSorted((one, other) => one.at - other.at)) {
    result += code.slice(from, at) + text;
    from = at;
  }
  return result + code.slice(from);
}

/** Builds an instrumented copy of `src` into a folder of its own. */
export async function buildInstrumented(): Promise<Instrumented> {
  const places: Place[] = [];
  const folder = await mkdtemp(join(tmpdir(), "road-"));
  for (const found of FOUND) await symlink(join(ROOT, found), join(folder, found));
  const options = ["-p", join(ROOT, "tsconfig.build.json"), "--outDir", join(folder, "dist")];
  execFileSync(process.execPath, [COMPILER, ...options, "--sourceMap", "false"]);
  for (const name of readdirSync(join(folder, "dist/src"), { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".js")) continue;
    const path = join(folder, "dist/src", name);
    const file = `src/${name.replace(/js$/, "ts")}`;
    const code = readFileSync(path, "utf8");
    writeFileSync(
      path,
      instrument(code, (called) => places.push({ file, name: called }) - 1),
    );
  }
  let called: number[] = [];
  Object.assign(globalThis, { __called: (number: number) => called.push(number) });
  return {
    load: (file) => import(pathToFileURL(join(folder, "dist", file.replace(/ts$/, "js"))).href),
    forget: () => {
      called = [];
    },
    calls: () => called.flatMap((number) => places[number] ?? []),
    remove: () => rm(folder, { recursive: true }),
  };
}
