import limits from "./test-settings.json" with { type: "json" };
import { NO_DEADLINES } from "./long-timeout.ts";

/**
 * Settings and bounds that tests run under, whatever the defaults are: none is reached by chance, on a machine of any
 * speed. A test of one sets it.
 */
export const TEST_SETTINGS: Readonly<Record<string, string>> = { ...NO_DEADLINES, ...limits };

/** For tests of the gateway as it comes: what is blank counts as not set. */
export const DEFAULTS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(TEST_SETTINGS).map((name) => [name, ""]),
);
