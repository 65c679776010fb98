import texts from "../config/wrong-settings.json" with { type: "json" };

/** For each variable texts that it does not take. */
export const WRONG_SETTINGS: Readonly<Record<string, readonly string[]>> = texts;

export const ALL_WRONG_SETTINGS = Object.fromEntries(
  Object.entries(WRONG_SETTINGS).map(([name, [text = ""]]) => [name, text]),
);
