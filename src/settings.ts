import type { Config } from "./config.ts";

/** Settings of a process that listens by itself. */
type OfProcess = "HOST" | "PORT" | "WORKERS";

/** The settings of a gateway in another server. `build-types.ts` writes them with their descriptions. */
export type Settings = {
  readonly [Name in Exclude<keyof Config, OfProcess>]?: string | number | undefined;
};
