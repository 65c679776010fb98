import limits from "./test-settings.json" with { type: "json" };
import { NO_DEADLINES } from "./long-timeout.ts";

/**
 * Settings and fixed limits for tests, whatever the defaults are, so that no limit is reached by chance on a machine of any speed. A test
 * of a limit sets it.
 */
export const TEST_SETTINGS: Readonly<Record<string, string>> = { ...NO_DEADLINES, ...limits };

/** For tests of the gateway with its defaults: a blank value counts as not set. */
export const DEFAULTS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(TEST_SETTINGS).map((name) => [name, ""]),
);
