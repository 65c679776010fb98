import { fireAtRate, fireAtWidth, goodPerSecond } from "./fire.ts";
import type { Running, Service } from "./processes.ts";
import { FILES, round, row, seconds, targetOf } from "./sheet.ts";

/** How long an overload lasts, and how long is looked at what comes after it. */
const OVERLOAD = 6;
const AFTERWARDS = 8;
/** How long it is warmed up, and looked at before. */
const USUAL = 5;

/** Five times what it can do, and how it is afterwards, second by second. */
export async function measureOverload(gateway: Running, service: Service): Promise<string[]> {
  const target = targetOf(gateway, service, FILES["experiment page"]);
  // A cold gateway has a third of its capacity.
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
    row("capacity (experiment page, 32 connections)", `${round(capacity)} a second`),
    row(`offered for ${OVERLOAD} s`, `${round(offered)} a second`),
    row("goodput meanwhile", `${round(goodput)} a second, ${share(goodput)} of capacity`),
    row("refused with an error meanwhile", `${round(within.counts.errors / within.seconds)} a second`),
    row("answers broken off meanwhile", within.counts.failed),
    row(`goodput in each of the ${AFTERWARDS} s afterwards`, whole.map(share).join(", ")),
    row(
      `until a second as good as the slowest before (${share(usual)})`,
      back < 0 ? `more than ${AFTERWARDS} s` : `${back + 1} s`,
    ),
  ];
}
