import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readPage } from "../../docs/page.ts";
import { isFull } from "../../support/cases.ts";
import { BUILT } from "../../support/built.ts";
import { findPython } from "../../support/python.ts";
import { walk } from "./walk.ts";

const FOLDER = "docs/recipes/";
const pages = readdirSync(new URL(`../../../${FOLDER}`, import.meta.url)).filter(
  (name) => name !== "README.md",
);

/** Pages in Python, and the packages of each that not every Python has. */
const PYTHON: Readonly<Record<string, string>> = { "notebook.md": "pandas, matplotlib" };

/** Programs that not every system has, by the page that needs them. */
const PROGRAMS: Readonly<Record<string, string>> = { "shell.md": "jq" };

const missing = Object.entries(PROGRAMS).filter(([, program]) => spawnSync(program, ["--version"]).error);
for (const [page, program] of missing)
  process.stdout.write(`\nNOT RUN: the recipe ${page}, for want of ${program}.\n\n`);
const skipped = new Set([...Object.keys(PYTHON), ...missing.map(([page]) => page)]);
const followed = pages.filter((page) => !skipped.has(page)).map((page) => `${FOLDER}${page}`);

// Without FULL, only one recipe is followed.
test.each(isFull ? followed : ["docs/recipes/urql.md"])(
  "%s works when followed from an empty folder",
  async (page) => {
    const { reported, printed } = await walk(page, { gateway: BUILT });
    expect(printed).toEqual(reported);
  },
);

for (const [page, module] of Object.entries(PYTHON)) {
  const python = findPython(module);
  if (python === null) process.stdout.write(`\nNOT RUN: a recipe, for want of a Python with ${module}.\n\n`);
  test.skipIf(python === null)(`${FOLDER}${page} works with a Python that has ${module}`, async () => {
    const programs = mkdtempSync(join(tmpdir(), "python-"));
    onTestFinished(() => rmSync(programs, { recursive: true }));
    symlinkSync(python ?? "", join(programs, "python3"));
    const { reported, printed } = await walk(`${FOLDER}${page}`, { gateway: BUILT, programs });
    expect(printed).toEqual(reported);
  });
}

test("the list of recipes names every page", () => {
  const { text } = readPage(`${FOLDER}README.md`);
  const named = [...text.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, page]) => page);
  expect(new Set(named)).toEqual(new Set(pages));
});
