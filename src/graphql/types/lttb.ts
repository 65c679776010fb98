/** A series: the value of each point, and the indexes of those that have one. */
export interface Valued {
  readonly values: readonly (number | null)[];
  readonly points: readonly number[];
}

/**
 * Downsamples a series by Largest-Triangle-Three-Buckets (Steinarsson 2013): from each bucket it keeps the point that
 * forms the largest triangle with the previously kept point and the average of the next bucket. Keeps the first and last
 * point and drops points without a value. Returns the indexes of the points that it keeps. Own code: the available
 * packages are unmaintained.
 */
export function lttb({ values, points }: Valued, maxPoints: number): readonly number[] {
  if (points.length <= maxPoints) return points;
  const heightAt = (point: number) => values[points[point] ?? 0] ?? 0;
  const inner = points.length - 2;
  const buckets = maxPoints - 2;
  const edge = (bucket: number) => 1 + Math.floor((bucket * inner) / buckets);
  const kept = [0];
  let from = 0;
  for (let bucket = 0; bucket < buckets; bucket++) {
    const end = edge(bucket + 1);
    const next = (bucket + 1 < buckets ? edge(bucket + 2) : points.length) - end;
    const x = end + (next - 1) / 2;
    let y = 0;
    for (let point = end; point < end + next; point++) y += heightAt(point) / next;
    const origin = heightAt(from);
    let best = edge(bucket);
    let largest = Number.NaN;
    for (let point = best; point < end; point++) {
      const area = Math.abs((from - x) * (heightAt(point) - origin) - (from - point) * (y - origin));
      if (point === best) largest = area;
      else if (area > largest) {
        best = point;
        largest = area;
      }
    }
    from = best;
    kept.push(best);
  }
  kept.push(points.length - 1);
  return kept.map((point) => points[point] ?? 0);
}
