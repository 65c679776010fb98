import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject, vi } from "vitest";
import { LONG_TIMEOUT } from "./long-timeout.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder for builds of a run. It is empty until a test needs a build. */
    readonly builtFolder: string;
  }
}

/** Creates a folder. Returns false if it exists. With `recursive`, two workers that create its parent at the same time would both be first. */
function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

/** Builds something in a folder with this name, once per run. If another worker has begun to build it, waits until it is built. */
export async function onceARun(name: string, build: (folder: string) => void): Promise<string> {
  const folder = join(inject("builtFolder"), name);
  const outcome = join(folder, "outcome");
  mkdirSync(folder, { recursive: true });
  if (isFirst(join(folder, "begun"))) {
    try {
      build(folder);
      writeFileSync(outcome, "built");
    } catch (error) {
      writeFileSync(outcome, String(error));
    }
  }
  await vi.waitUntil(() => existsSync(outcome) && readFileSync(outcome, "utf8") !== "", LONG_TIMEOUT);
  const text = readFileSync(outcome, "utf8");
  if (text !== "built") throw new Error(`the ${name} was not built: ${text}`);
  return folder;
}
