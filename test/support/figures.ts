import { vi } from "vitest";
import type { Gateway } from "./gateway.ts";
import { LONG_TIMEOUT } from "./long-timeout.ts";

/** Waits until a figure does not change any more while the gateway takes turns of its loop. */
export async function settled(gateway: Gateway, figure: () => number): Promise<number> {
  for (let before = -1; before !== figure();) {
    before = figure();
    for (let turn = 0; turn < 10; turn++) await (await fetch(`${gateway.url}/healthz`)).text();
  }
  return figure();
}

/** A figure of `/metrics`, the sum over all labels; NaN where there is none. `name` may have labels. */
export async function metricOf(gateway: Gateway, name: string): Promise<number> {
  const text = await (await fetch(`${gateway.url}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  if (lines.length === 0) return Number.NaN;
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

/** Waits until a figure of `/metrics` is this one. */
export const reaches = (gateway: Gateway, name: string, value: number) =>
  vi.waitUntil(async () => (await metricOf(gateway, name)) === value, LONG_TIMEOUT);
