import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readPage } from "../../../test/docs/page.ts";
import { everyNth } from "../../../test/support/cases.ts";
import { BUILT } from "../../../test/support/built.ts";
import { walk } from "./walk.ts";

const FOLDER = "docs/recipes/";
const pages = readdirSync(new URL(`../../../${FOLDER}`, import.meta.url)).filter(
  (name) => name !== "README.md",
);

/** Pages in Python, and what each imports that not every Python has. */
const PYTHON: Readonly<Record<string, string>> = { "python.md": "json", "notebook.md": "pandas" };

const followed = [
  "docs/federation.md",
  ...pages.filter((page) => !(page in PYTHON)).map((page) => `${FOLDER}${page}`),
];

test.each(everyNth(followed, 4, 0))("%s works from an empty folder on", async (page) => {
  const { told, printed } = await walk(page, { gateway: BUILT });
  expect(printed).toEqual(told);
});

/** The program of a Python that can import a module: the first one of the path, or Debian's. */
function findPython(module: string): string | null {
  for (const program of ["python3", "/usr/bin/python3"]) {
    try {
      const script = `import sys, ${module}; print(sys.executable)`;
      return execFileSync(program, ["-c", script], { encoding: "utf8", stdio: "pipe" }).trim();
    } catch {
      // The next one may have it.
    }
  }
  process.stdout.write(`\nNOT RUN: a recipe, for want of a Python with ${module}.\n\n`);
  return null;
}

for (const [page, module] of Object.entries(PYTHON)) {
  const python = findPython(module);
  test.skipIf(python === null)(`${FOLDER}${page} works with a Python that has ${module}`, async () => {
    const programs = mkdtempSync(join(tmpdir(), "python-"));
    onTestFinished(() => rmSync(programs, { recursive: true }));
    symlinkSync(python ?? "", join(programs, "python3"));
    const { told, printed } = await walk(`${FOLDER}${page}`, { gateway: BUILT, programs });
    expect(printed).toEqual(told);
  });
}

test("the list of recipes names every page", () => {
  const { text } = readPage(`${FOLDER}README.md`);
  const named = [...text.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, page]) => page);
  expect(named.toSorted()).toEqual(pages.toSorted());
});
