import { buildGateway } from "./build.ts";
import { onceARun } from "./once-a-run.ts";

/**
 * The folder of the gateway as `npm run build` makes it: one build a run, when the first test needs it. Tests change
 * nothing in it.
 */
export const BUILT = await onceARun("gateway", buildGateway);
