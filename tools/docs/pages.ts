import { readdirSync, readFileSync } from "node:fs";
import { PARTS } from "./parts.ts";

const ROOT = new URL("../../", import.meta.url);

/** A generated part: `<!-- generated: metrics -->` to `<!-- end -->`. */
const PART = /(<!-- generated: ([\w-]+) -->\n)[^]*?(<!-- end -->)/g;

interface Page {
  readonly path: string;
  readonly url: URL;
  readonly text: string;
  /** The page with its generated parts updated. */
  readonly generated: string;
  readonly parts: readonly string[];
}

/** Returns every page with generated parts. Throws if a part has no generator. */
export async function readGeneratedPages(): Promise<readonly Page[]> {
  const paths = [
    "README.md",
    "CONTRIBUTING.md",
    ...readdirSync(new URL("docs/", ROOT)).map((name) => `docs/${name}`),
  ];
  const made = new Map<string, string>();
  for (const [name, make] of Object.entries(PARTS)) made.set(name, await make());
  return paths
    .filter((path) => path.endsWith(".md"))
    .map((path) => {
      const url = new URL(path, ROOT);
      const text = readFileSync(url, "utf8");
      const parts = [...text.matchAll(PART)].map(([, , name = ""]) => name);
      const generated = text.replace(PART, (_, start: string, name: string, end: string) => {
        const part = made.get(name);
        if (part === undefined) throw new Error(`${path}: expected a generated part, got ${name}`);
        return `${start}\n${part}\n\n${end}`;
      });
      return { path, url, text, generated, parts };
    })
    .filter(({ parts }) => parts.length > 0);
}
