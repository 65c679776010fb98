import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** This checkout. */
export const PRODUCT = fileURLToPath(new URL("..", import.meta.url));

/** The V8 flags of `npm start` in a checkout. */
export function flagsOfStart(checkout: string): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as {
    scripts: { start: string };
  };
  return /node ((?:--\S+ )*)dist/.exec(scripts.start)?.[1]?.trim().split(" ").filter(Boolean) ?? [];
}

/** The command by which `npm start` starts a built checkout. */
export const commandOf = (checkout: string): readonly string[] => [
  process.execPath,
  ...flagsOfStart(checkout),
  join(checkout, "dist/main.js"),
];
