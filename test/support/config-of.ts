import { fixedLimitsFor } from "../../src/config/fixed-limits.ts";
import { type Config, readConfig } from "../../src/config.ts";

type Given = Readonly<Record<string, string>>;

const BOUNDS = fixedLimitsFor(readConfig({}));
const isBound = (name: string): boolean => name in BOUNDS;

/**
 * The configuration for these settings and fixed limits. Fixed limits are assigned directly, because no environment variable sets them. A
 * blank value counts as not set.
 */
export function configOf(given: Given): Config {
  const settings = Object.entries(given).filter(([name]) => !isBound(name));
  const bounds = Object.entries(given).filter(([name, value]) => isBound(name) && value !== "");
  return Object.assign(
    readConfig(Object.fromEntries(settings)),
    Object.fromEntries(bounds.map(([name, value]) => [name, Number(value)])),
  );
}
