import { boundsFor } from "../../src/config/bounds.ts";
import { type Config, readConfig } from "../../src/config.ts";

type Given = Readonly<Record<string, string>>;

const isBound = (name: string): boolean => name in boundsFor(readConfig({}));

/** The settings among what a story gives by name: the other names are those of bounds, which no environment sets. */
const settingsIn = (given: Given): Given =>
  Object.fromEntries(Object.entries(given).filter(([name]) => !isBound(name)));

/** What a gateway runs under with these settings and bounds. What is blank counts as not given. */
export function configOf(given: Given): Config {
  const bounds = Object.entries(given).filter(([name, value]) => isBound(name) && value !== "");
  return Object.assign(
    readConfig(settingsIn(given)),
    Object.fromEntries(bounds.map(([name, value]) => [name, Number(value)])),
  );
}
