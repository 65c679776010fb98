import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readPage } from "../../../test/docs/page.ts";
import { walk } from "./walk.ts";

const FOLDER = "docs/recipes/";
const NOTEBOOK = "notebook.md";
const pages = readdirSync(new URL(`../../../${FOLDER}`, import.meta.url)).filter(
  (name) => name !== "README.md",
);

test.each(pages.filter((name) => name !== NOTEBOOK))("the recipe %s works from an empty folder on", (name) =>
  walk(`${FOLDER}${name}`),
);

/** A Python that has pandas: the first one of the path, or Debian's. */
const python = ["python3", "/usr/bin/python3"].find((program) => {
  try {
    execFileSync(program, ["-c", "import pandas"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
});

test("the page of routers works from an empty folder on", () => walk("docs/federation.md"));

test.skipIf(python === undefined)("the recipe for a notebook works where Python has pandas", async () => {
  const programs = mkdtempSync(join(tmpdir(), "python-"));
  onTestFinished(() => rmSync(programs, { recursive: true }));
  const path = execFileSync(python ?? "", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" });
  symlinkSync(path.trim(), join(programs, "python3"));
  await walk(`${FOLDER}${NOTEBOOK}`, { programs });
});

test("the list of recipes names every page", () => {
  const { text } = readPage(`${FOLDER}README.md`);
  expect([...text.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, page]) => page).toSorted()).toEqual(
    pages.toSorted(),
  );
});
