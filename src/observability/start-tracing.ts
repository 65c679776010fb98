import { setTimeout as wait } from "node:timers/promises";
import type { Log } from "../log.ts";
import { createEventLog } from "./event-log.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The address of the collector, the more specific variable first. */
const ENDPOINTS = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const PROTOCOLS = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];

/** How long the spans of the last requests may take on their way to the collector when the process ends, in milliseconds. */
const FLUSH_MS = 2_000;

/**
 * Sends spans to a collector if the variables of OpenTelemetry name one. Returns a function that sends those that wait,
 * which takes at most 2 s and never rejects.
 */
export async function startTracing(environment: Environment, log: Log): Promise<() => Promise<void>> {
  const flush = isWanted(environment, log) ? await open(log) : null;
  return async () => {
    if (flush) await Promise.race([flush().catch(() => {}), wait(FLUSH_MS)]);
  };
}

async function open(log: Log): Promise<(() => Promise<void>) | null> {
  const { openOtlp } = await import("./otlp.ts");
  const events = createEventLog(log);
  try {
    return openOtlp(events.tracesFailure);
  } catch (error) {
    // Such as a file of a certificate that cannot be read: spans are not worth the gateway.
    events.unexpected(error);
    return null;
  }
}

function isWanted(environment: Environment, log: Log): boolean {
  const given = (names: readonly string[]) => names.find((name) => environment[name]?.trim());
  const endpoint = given(ENDPOINTS);
  if (endpoint === undefined || environment["OTEL_SDK_DISABLED"]?.trim().toLowerCase() === "true")
    return false;
  const exporters = environment["OTEL_TRACES_EXPORTER"]?.trim() || "otlp";
  if (!exporters.split(/\s*,\s*/).includes("otlp")) return false;
  if (!isHttpUrl(environment[endpoint])) {
    log.warn(
      { variable: endpoint },
      "expected an address that begins with http:// or https://: no spans are sent",
    );
    return false;
  }
  const protocol = given(PROTOCOLS);
  if (protocol !== undefined && environment[protocol]?.trim() === "grpc")
    log.warn(
      { variable: protocol },
      "spans are sent by OTLP over HTTP, not by gRPC: collectors take it at port 4318",
    );
  return true;
}

const isHttpUrl = (text = ""): boolean =>
  URL.canParse(text.trim()) && /^https?:$/.test(new URL(text.trim()).protocol);
