import { Gauge, type Registry } from "prom-client";

/** Creates the metrics of reloads. Returns a function that records the outcome of one. */
export function createReloadMetrics(registers: Registry[]) {
  const successful = new Gauge({
    name: "rungraph_config_last_reload_successful",
    help: "0 while a file that a setting names cannot be used: the gateway goes on with what it read before.",
    registers,
  });
  const readAt = new Gauge({
    name: "rungraph_config_last_reload_success_timestamp_seconds",
    help: "When the settings and their files were last read successfully, in seconds since 1970.",
    registers,
  });
  const record = (isSuccessful: boolean): void => {
    successful.set(isSuccessful ? 1 : 0);
    if (isSuccessful) readAt.setToCurrentTime();
  };
  record(true);
  return record;
}
