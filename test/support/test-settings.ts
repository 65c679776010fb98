import limits from "./test-settings.json" with { type: "json" };
import { NO_DEADLINES } from "./long-timeout.ts";

/**
 * Settings and fixed limits for tests. They do not depend on the defaults, and no test reaches a limit by chance, even on a slow machine. A
 * test of a limit sets that limit itself.
 */
export const TEST_SETTINGS: Readonly<Record<string, string>> = { ...NO_DEADLINES, ...limits };

/** Settings for tests of the gateway with its defaults. A blank value counts as not set. */
export const DEFAULTS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(TEST_SETTINGS).map((name) => [name, ""]),
);
