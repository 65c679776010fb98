import { onTestFinished, vi } from "vitest";
import { PATIENT } from "./patience.ts";
import { type BalancerName, isInstalled, runBalancer } from "./run-balancer.ts";

/** Whether a balancer is there to test with. */
export function hasBalancer(name: BalancerName): boolean {
  const isThere = isInstalled(name);
  if (!isThere)
    process.stderr.write(`\nNOT RUN: the tests with ${name}, for want of it. Install ${name}.\n\n`);
  return isThere;
}

/** A balancer with its file of `deploy/`, ended with the test. Resolves with its URL. */
export async function startBalancer(...given: Parameters<typeof runBalancer>): Promise<string> {
  const { url, check, stop } = await runBalancer(...given);
  onTestFinished(stop);
  await vi.waitFor(check, PATIENT);
  return url;
}
