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

/** Builds something in a folder with this name, once per run. If another worker has begun to build it, waits until it is built. */
export async function onceARun(name: string, build: (folder: string) => void): Promise<string> {
  const folder = join(inject("builtFolder"), name);
  const outcome = join(folder, "outcome");
  const isFirst = mkdirSync(join(folder, "begun"), { recursive: true }) !== undefined;
  if (isFirst) {
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
