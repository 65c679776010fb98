import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);

/** Options of Node.js with which a process runs TypeScript, in any folder. */
export const TYPESCRIPT = ["--import", pathToFileURL(require.resolve("tsx")).href];

/** The compiler, as an argument of Node. */
export const COMPILER = require.resolve("typescript/package.json").replace("package.json", "bin/tsc");
