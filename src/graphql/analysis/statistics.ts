/* Statistics of finite numbers. No package is used, because statistics packages are many times larger than these functions. */

/** After a number above `LARGE`, sums are kept in units of `UNIT`, because the square of such a number is infinite. */
const LARGE = 1e150;
const UNIT = 2 ** 540;

/**
 * Count, mean, deviation and range of numbers that are added one by one. Uses Welford's algorithm, which is exact even if the numbers
 * differ little.
 */
export class Moments {
  count = 0;
  min = Number.POSITIVE_INFINITY;
  max = Number.NEGATIVE_INFINITY;
  #unit = 1;
  #mean = 0;
  #squares = 0;

  add(given: number): void {
    if (this.#unit === 1 && Math.abs(given) > LARGE) {
      this.#unit = UNIT;
      this.#mean /= UNIT;
      this.#squares /= UNIT;
      this.#squares /= UNIT;
    }
    const value = given / this.#unit;
    this.count++;
    const distance = value - this.#mean;
    this.#mean += distance / this.count;
    this.#squares += distance * (value - this.#mean);
    if (given < this.min) this.min = given;
    if (given > this.max) this.max = given;
  }

  /** The mean; null without numbers. */
  mean(): number | null {
    return this.count === 0 ? null : finiteOrNull(this.#mean * this.#unit);
  }

  /** Standard deviation of a sample (divided by n - 1). Null for fewer than two numbers, or if it is too large for a double. */
  standardDeviation(): number | null {
    return this.count < 2 ? null : finiteOrNull(Math.sqrt(this.#squares / (this.count - 1)) * this.#unit);
  }
}

const finiteOrNull = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** The median: the middle number, or the mean of the two middle numbers; null without numbers. */
export function medianOf(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).toSorted();
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  if (sorted.length % 2 === 1) return upper;
  const lower = sorted[middle - 1] ?? 0;
  return finiteOrNull((lower + upper) / 2) ?? lower / 2 + upper / 2;
}

/** Returns the rank of each number, starting at 1. Equal numbers share the mean of their ranks. */
function ranksOf(values: readonly number[]): Float64Array {
  const order = [...values.keys()].toSorted((one, other) => (values[one] ?? 0) - (values[other] ?? 0));
  const ranks = new Float64Array(values.length);
  for (let from = 0; from < order.length;) {
    let to = from + 1;
    while (to < order.length && values[order[to] ?? 0] === values[order[from] ?? 0]) to++;
    for (let index = from; index < to; index++) ranks[order[index] ?? 0] = (from + to + 1) / 2;
    from = to;
  }
  return ranks;
}

/** Spearman's rank correlation of pairs, from -1 to 1. Null for fewer than two pairs, or if one side is the same in all pairs. */
export function rankCorrelation(xs: readonly number[], ys: readonly number[]): number | null {
  const [ranksOfX, ranksOfY] = [ranksOf(xs), ranksOf(ys)];
  const mean = (xs.length + 1) / 2;
  let [both, ofX, ofY] = [0, 0, 0];
  for (const [index, rank] of ranksOfX.entries()) {
    const x = rank - mean;
    const y = (ranksOfY[index] ?? 0) - mean;
    both += x * y;
    ofX += x * x;
    ofY += y * y;
  }
  return ofX === 0 || ofY === 0 ? null : Math.max(-1, Math.min(1, both / Math.sqrt(ofX * ofY)));
}
