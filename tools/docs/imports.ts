import { readdirSync, readFileSync } from "node:fs";
import { layout, PACKAGES, pathOf, ROWS } from "./layout.ts";

const ROOT = new URL("../../", import.meta.url);

/** The row of a file: the file itself, or its folder. */
const rowOf = (file: string): string | undefined =>
  Object.keys(ROWS).find((name) =>
    name.endsWith(".ts")
      ? file === pathOf(name)
      : file.startsWith(`${pathOf(name)}/`) || file === `${pathOf(name)}.ts`,
  );

/** The imports of each file of `src` and of the demo: paths of files, names of packages. */
export function importGraph(): ReadonlyMap<string, readonly string[]> {
  const files = ["demo", "src"].flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: "utf8" }).map(
      (name) => `${folder}/${name}`,
    ),
  );
  return new Map(
    files
      .filter((name) => name.endsWith(".ts"))
      .toSorted()
      .map((name) => {
        const url = new URL(name, ROOT);
        const imports = [
          ...readFileSync(url, "utf8").matchAll(/(?:\bfrom|\bimport|\bimport\() ?"([^"]+)"/g),
        ].map(([, path = ""]) =>
          path.startsWith(".")
            ? new URL(path, url).href.slice(ROOT.href.length)
            : (/^(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path),
        );
        return [name, imports];
      }),
  );
}

/** Violations of the import rules in `layout.ts`, one line each. */
export function violationsIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const unused = new Set(layout().flatMap(({ name, imports }) => imports.map((each) => `${name}: ${each}`)));
  const violations = [...graph].flatMap(([file, imports]) => {
    const row = rowOf(file);
    if (row === undefined) return [`${file} is in no row`];
    return imports.flatMap((path) => {
      const imported = rowOf(path);
      if (imported === row) return [];
      if (imported !== undefined) unused.delete(`${row}: ${imported}`);
      const mayImport = imported
        ? ROWS[row]?.imports.includes(imported)
        : (PACKAGES[path]?.includes(row) ?? true);
      return mayImport ? [] : [`${file} must not import ${path}`];
    });
  });
  const order = Object.keys(ROWS);
  const upward = layout().flatMap(({ name, imports }) =>
    imports
      .filter((each) => order.indexOf(each) >= order.indexOf(name))
      .map((each) => `${name}: ${each} is not above it`),
  );
  return [...violations, ...upward, ...[...unused].map((each) => `${each} is not imported`)];
}
