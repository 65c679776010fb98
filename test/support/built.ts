import { buildGateway } from "./build.ts";
import { onceARun } from "./once-a-run.ts";

/**
 * The folder with the gateway as `npm run build` creates it. It is built once per run, when the first test needs it. Tests must not change
 * it.
 */
export const BUILT = await onceARun("gateway", buildGateway);
