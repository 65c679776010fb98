import type { Declarations } from "./model.ts";

/** A number from 0 to 1 (exclusive) that looks random and depends on nothing but the text. */
export function chance(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39);
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32;
}

/**
 * What an experiment measures after an epoch. A small learning rate is slow, a large one restless, and the
 * best loss lies near 0.025 with little dropout.
 */
export function measure(id: number, declarations: Declarations | null, epoch: number) {
  const rate = numberOf(declarations?.["lr"], 0.01);
  const dropout = numberOf(declarations?.["dropout"], 0.3);
  const restlessness = 0.02 + 1.4 * rate;
  const floor =
    0.06 +
    0.16 * Math.abs(Math.log10(rate / 0.025)) +
    0.25 * Math.abs(dropout - 0.3) +
    (declarations?.["activation"] === "sigmoid" ? 0.07 : 0) +
    0.05 * chance(`floor ${id}`);
  const fall = Math.exp(-(0.06 + 1.8 * rate) * (epoch + 1));
  const jolt = (chance(`loss ${id} ${epoch}`) - 0.5) * restlessness * (0.3 + fall);
  const loss = Math.max(0.01, floor + (2.3 - floor) * fall + jolt);
  const accuracy = Math.min(
    0.998,
    Math.max(0.1, 1 - loss / 2.6 + (chance(`accuracy ${id} ${epoch}`) - 0.5) * 0.01),
  );
  return { loss: round(loss), accuracy: round(accuracy) };
}

function numberOf(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
