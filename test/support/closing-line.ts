import { isFull } from "./cases.ts";
import type { Reporter, TestModule } from "vitest/node";

const LEFT_OUT =
  "Without FULL=1: no browsers, recipes, balancers, packages, other versions of Node.js and the like (`LONG` in vitest.config.ts); property tests with few cases; a part of the cells of faults, outages, places, secrets, names, commands, recordings; of servers, routers and composers some.";

/** Ends a run with one plain line that counts its tests: `12 passed, 0 failed`. */
export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    const counts = { passed: 0, failed: unhandled.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      if (!module.ok() && [...module.children.allTests()].length === 0) counts.failed++;
      for (const each of module.children.allTests()) counts[each.result().state]++;
    }
    if (!isFull) process.stdout.write(`\n${LEFT_OUT}\n`);
    const skipped = counts.skipped + counts.pending;
    process.stdout.write(
      `\n${counts.passed} passed, ${counts.failed} failed${skipped ? `, ${skipped} skipped` : ""}\n`,
    );
  }
}
