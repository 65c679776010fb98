import { statSync } from "node:fs";
import { type Config, ConfigError, readConfig } from "../config.ts";
import { PROFILE_NAMES } from "../rest/api/profile.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface Settings {
  /** The texts of the settings, which do not change: only the files that they name do. */
  readonly environment: Environment;
  /** How often the files are looked at, in milliseconds; 0: never. */
  readonly intervalMs: number;
  readonly clock: {
    /** Calls back once after a pause. Returns a function that cancels it. */
    readonly after: (ms: number, callback: () => void) => () => void;
  };
  readonly onRead: (config: Config) => void;
  /** Receives the faults of files that cannot be used, a line each, without their contents. */
  readonly onFaults: (faults: readonly string[]) => void;
}

/**
 * Reads the settings again: on demand, and when files that they name have changed. Own code instead of `fs.watch`:
 * Kubernetes replaces a link above the files, and network file systems report nothing.
 */
export function watchSettings({ environment, intervalMs, clock, onRead, onFaults }: Settings) {
  const paths = pathsIn(environment);
  let used = stateOf(paths);
  let cancel = NOTHING;

  const read = (): void => {
    used = stateOf(paths);
    let config: Config;
    try {
      config = readConfig(environment);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return onFaults(error.message.split("\n"));
    }
    onRead(config);
  };

  const watch = (before: string): void => {
    cancel = clock.after(intervalMs, () => {
      const now = stateOf(paths);
      watch(now);
      // Once it has stayed the same for an interval: a file may be half written, and a certificate without its key.
      if (now !== used && now === before) read();
    });
  };
  if (intervalMs > 0 && paths.length > 0) watch(used);

  return { read, stop: (): void => cancel() };
}

const NOTHING = (): void => {};

/** The paths of the files that settings name. */
const pathsIn = (environment: Environment): string[] =>
  Object.keys(environment)
    .filter(isFile)
    .flatMap((name) => {
      const path = environment[name] ?? "";
      return path.trim() === "" || PROFILE_NAMES.some((profile) => profile === path) ? [] : [path];
    });

const isFile = (name: string): boolean =>
  name.endsWith("_FILE") || name === "UPSTREAM_PROFILE" || name === "TRUSTED_DOCUMENTS";

/** Tells versions of files apart, also when a link above them leads elsewhere. */
const stateOf = (paths: readonly string[]): string =>
  paths
    .map((path) => {
      try {
        const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
        return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
      } catch {
        return "none";
      }
    })
    .join("\n");
