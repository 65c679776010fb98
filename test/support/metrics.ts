import { vi } from "vitest";
import type { Gateway } from "./gateway.ts";
import { LONG_TIMEOUT } from "./long-timeout.ts";

/** Waits until a value stays the same while the gateway handles other requests. */
export async function settled(gateway: Gateway, value: () => number): Promise<number> {
  for (let before = -1; before !== value();) {
    before = value();
    for (let round = 0; round < 10; round++) await (await fetch(`${gateway.url}/healthz`)).text();
  }
  return value();
}

/** The value of a metric in `/metrics`, summed over all labels; NaN if there is none. `name` may contain labels. */
export async function metricOf(gateway: Gateway, name: string): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  if (lines.length === 0) return Number.NaN;
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

/** Waits until `/metrics` reports this value. */
export const reaches = (gateway: Gateway, name: string, value: number) =>
  vi.waitUntil(async () => (await metricOf(gateway, name)) === value, LONG_TIMEOUT);
