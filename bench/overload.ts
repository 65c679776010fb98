import { fireAtRate, fireAtWidth, goodPerSecond } from "./fire.ts";
import type { Running, Service } from "./processes.ts";
import { FILES, round, row, seconds, targetOf } from "./sheet.ts";

/** Duration of the overload and of the measurement after it, in seconds. */
const OVERLOAD = 6;
const AFTERWARDS = 8;
/** Duration of the warm-up and of the measurement before the overload, in seconds. */
const USUAL = 5;

/** Sends five times the gateway's capacity, then measures its recovery second by second. */
export async function measureOverload(gateway: Running, service: Service): Promise<string[]> {
  const target = targetOf(gateway, service, FILES["experiment page"]);
  // Warms up: a cold gateway has a third of its capacity.
  await fireAtWidth(target, 32, seconds(USUAL));
  const before = await fireAtWidth(target, 32, seconds(USUAL));
  const capacity = goodPerSecond(before);
  const { within, offered } = await fireAtRate(target, capacity * 5, OVERLOAD);
  const after = await fireAtWidth(target, 32, seconds(AFTERWARDS));
  const goodput = goodPerSecond(within);
  const whole = after.bySecond.slice(0, AFTERWARDS);
  const share = (count: number) => `${round((count / capacity) * 100)} %`;
  const usual = Math.min(...before.bySecond.slice(0, USUAL));
  const back = whole.findIndex((count) => count >= usual);
  return [
    row("capacity (experiment page, 32 connections)", `${round(capacity)} per second`),
    row(`offered for ${OVERLOAD} s`, `${round(offered)} per second`),
    row("goodput during the overload", `${round(goodput)} per second, ${share(goodput)} of capacity`),
    row(
      "rejected with an error during the overload",
      `${round(within.counts.errors / within.seconds)} per second`,
    ),
    row("incomplete responses during the overload", within.counts.failed),
    row(`goodput in each of the ${AFTERWARDS} s afterwards`, whole.map(share).join(", ")),
    row(
      `time until a second equals the slowest one before (${share(usual)})`,
      back < 0 ? `more than ${AFTERWARDS} s` : `${back + 1} s`,
    ),
  ];
}
