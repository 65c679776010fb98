import { isDeepStrictEqual } from "node:util";
import { type Config, SETTINGS } from "./config.ts";
import type { Log } from "./log.ts";

type Name = keyof Config;

/** The settings that a reload takes over, by what they change. */
const PARTS = {
  connection: ["UPSTREAM_CA_FILE", "UPSTREAM_CERT_FILE", "UPSTREAM_KEY_FILE", "UPSTREAM_PROXY"],
  headers: ["UPSTREAM_HEADERS"],
  profile: ["UPSTREAM_PROFILE"],
  documents: ["TRUSTED_DOCUMENTS"],
} as const satisfies Readonly<Record<string, readonly Name[]>>;

type Part = keyof typeof PARTS;

export interface ReloadSettings {
  readonly log: Log;
  readonly onOutcome: (isSuccessful: boolean) => void;
  /** Takes over the parts that have changed. */
  readonly take: (config: Config, has: (part: Part) => boolean) => void;
}

/** Takes over what files may change, and tells of it. Values are not told. */
export function createReload(first: Config, { log, onOutcome, take }: ReloadSettings) {
  let current = first;
  return {
    onRead: (config: Config): void => {
      const changed = changesOf(current, config);
      const taken = changed.filter((name) => Object.values(PARTS).some((names) => includes(names, name)));
      const left = changed.filter((name) => !taken.includes(name));
      current = config;
      take(config, (part) => taken.some((name) => includes(PARTS[part], name)));
      onOutcome(true);
      log.info({ changed: taken }, "settings reloaded");
      if (left.length > 0) log.warn({ changed: left }, "settings that need a restart have changed");
    },
    onFaults: (faults: readonly string[]): void => {
      onOutcome(false);
      log.error({ faults }, "settings not reloaded");
    },
  };
}

const includes = (names: readonly Name[], name: Name): boolean => names.includes(name);

function changesOf(before: Config, after: Config): Name[] {
  // Safe: they are names of a config.
  const names = SETTINGS as readonly Name[];
  return names.filter((name) => !isDeepStrictEqual(plain(before[name]), plain(after[name])));
}

/** Old versions of Node take all URLs for equal. */
const plain = (value: unknown): unknown => (value instanceof URL ? value.href : value);
