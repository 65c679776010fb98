import { ConfigError, readConfig } from "../../src/config.ts";

/** The lines of the error message about these settings. */
export function issuesOf(environment: Record<string, string>): string[] {
  try {
    readConfig(environment);
  } catch (fault) {
    if (fault instanceof ConfigError) return fault.message.split("\n");
    throw fault;
  }
  return [];
}
