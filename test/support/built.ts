import { buildGateway } from "./build.ts";
import { onceARun } from "./once-a-run.ts";

/** The folder of the gateway as `npm run build` creates it: one build per run, when the first test needs it. Tests must not change it. */
export const BUILT = await onceARun("gateway", buildGateway);
