/** Where values stand on an axis: from 0, its lower end, to 1. */
export interface Scale {
  /** Null if the run has no such value. */
  readonly placeOf: (value: unknown) => number | null;
  /** The value at a place, in words. */
  readonly wordAt: (place: number) => string;
  readonly ticks: readonly { readonly place: number; readonly word: string }[];
  /** How far a key moves along it. */
  readonly step: number;
}

/** From this ratio of the largest to the smallest on, numbers stand by their logarithms, as learning rates are tried. */
const LOGARITHMIC = 50;

const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 4, useGrouping: false });

/** Numbers stand by their size, all else by name and evenly. */
export function scaleOf(values: readonly unknown[]): Scale {
  const given = values.filter((value) => value !== null && value !== undefined);
  return given.every((value) => typeof value === "number") ? numeric(given) : nominal(given);
}

function numeric(numbers: readonly number[]): Scale {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  const isLog = least > 0 && most / least >= LOGARITHMIC;
  const [bend, unbend] = isLog ? [Math.log, Math.exp] : [Number, Number];
  const [from, size] = [bend(least), bend(most) - bend(least)];
  const wordAt = (place: number) => digits.format(unbend(from + place * size));
  const placeOf = (value: number) => (size ? (bend(value) - from) / size : 0.5);
  // A few values that were tried stand at the axis themselves.
  const tried = [...new Set(numbers)].toSorted((a, b) => a - b);
  const marks = tried.length <= 6 ? tried.map(placeOf) : [0, 0.25, 0.5, 0.75, 1];
  return {
    placeOf: (value) => (typeof value === "number" ? placeOf(value) : null),
    wordAt,
    ticks: apart(marks).map((place) => ({ place, word: wordAt(place) })),
    step: 0.05,
  };
}

/** Ticks that would stand upon each other are left out. */
function apart(places: readonly number[]): number[] {
  const kept: number[] = [];
  for (const place of places) if (place - (kept.at(-1) ?? -1) >= 0.07) kept.push(place);
  return kept;
}

const nameOf = (value: unknown) => (typeof value === "object" ? JSON.stringify(value) : String(value));

function nominal(values: readonly unknown[]): Scale {
  const names = [...new Set(values.map(nameOf))].toSorted();
  const last = Math.max(1, names.length - 1);
  const placeOf = (name: string) => (names.length === 1 ? 0.5 : names.indexOf(name) / last);
  return {
    placeOf: (value) => (value === null || value === undefined ? null : placeOf(nameOf(value))),
    wordAt: (place) => names[Math.round(place * last)] ?? names[0] ?? "–",
    ticks: names.map((word) => ({ place: placeOf(word), word })),
    step: 1 / last,
  };
}
