import type { Locator } from "playwright-core";
import { expect } from "vitest";
import { SHOWN } from "../../../test/support/browser.ts";
import { startDemoGateway } from "../../../test/support/demo-gateway.ts";
import { fakeClock } from "../../../test/support/fake-clock.ts";

/** A gateway whose service and whose polls go on by hand. */
export async function startLive() {
  let now = Date.now();
  const { clock, advance } = fakeClock();
  const gateway = await startDemoGateway({
    env: { UPSTREAM_PROFILE: "polyaxon-0.4" },
    now: () => now,
    clock,
  });
  return {
    ...gateway,
    /** Lets the service work on for some seconds. */
    work: (seconds: number) => {
      now += seconds * 1_000;
    },
    /** Lets the gateway poll until something is shown; slowly, since it tells of reads that take 15 of these seconds. */
    pollUntil: (shown: Locator) =>
      expect
        .poll(async () => {
          const isShown = await shown.isVisible();
          if (!isShown) advance(1_000);
          return isShown;
        }, SHOWN)
        .toBe(true),
  };
}
