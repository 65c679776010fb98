import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { readPage } from "../../docs/page.ts";

const HERE = fileURLToPath(new URL("./", import.meta.url));

/** Imports a file of a page, for tests of behaviour that the page does not show. It finds the packages of `test/ecosystem`. */
export async function importSnippet(page: string, file: string): Promise<unknown> {
  const block = readPage(page).blocks.find((each) => each.file === file);
  if (!block) throw new TypeError(`${page} has no file ${file}`);
  const folder = await mkdtemp(join(HERE, "snippet-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, file.replaceAll("/", "-"));
  await writeFile(path, block.text);
  return import(path);
}
