import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject, vi } from "vitest";
import { buildGateway } from "./build.ts";
import { PATIENT } from "./patience.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder for the one build of a run, empty until a test needs it. */
    readonly builtFolder: string;
  }
}

/** Builds the gateway, or waits until another worker has built it. */
async function buildOnce(folder: string): Promise<string> {
  const outcome = join(folder, "outcome");
  const isFirst = mkdirSync(join(folder, "begun"), { recursive: true }) !== undefined;
  if (isFirst) {
    try {
      buildGateway(folder);
      writeFileSync(outcome, "built");
    } catch (error) {
      writeFileSync(outcome, String(error));
    }
  }
  await vi.waitUntil(() => existsSync(outcome) && readFileSync(outcome, "utf8") !== "", PATIENT);
  const text = readFileSync(outcome, "utf8");
  if (text !== "built") throw new Error(`the gateway was not built: ${text}`);
  return folder;
}

/**
 * The folder of the gateway as `npm run build` makes it: one build a run, when the first test needs it. Tests change
 * nothing in it.
 */
export const BUILT = await buildOnce(inject("builtFolder"));
