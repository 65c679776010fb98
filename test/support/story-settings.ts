import limits from "./story-settings.json" with { type: "json" };
import { NO_DEADLINES } from "./patience.ts";

/**
 * Settings and bounds that stories run under, whatever the defaults are: none is reached by chance, on a machine of any
 * speed. A story about one sets it.
 */
export const STORY_SETTINGS: Readonly<Record<string, string>> = { ...NO_DEADLINES, ...limits };

/** For stories about the gateway as it comes: what is blank counts as not set. */
export const DEFAULTS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(STORY_SETTINGS).map((name) => [name, ""]),
);
