import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The script of oxlint, for `process.execPath`. */
export const LINTER = fileURLToPath(new URL("../../node_modules/oxlint/bin/oxlint", import.meta.url));

/** Whether oxlint runs here. It supports Node.js from 20.19 on, and npm omits its binary on earlier versions. */
export const HAS_LINTER = spawnSync(process.execPath, [LINTER, "--version"]).status === 0;
