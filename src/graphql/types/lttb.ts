interface Point {
  readonly value: number | null;
}

/**
 * Downsamples a series by Largest-Triangle-Three-Buckets (Steinarsson 2013): from each bucket it keeps the point that
 * forms the largest triangle with the previously kept point and the average of the next bucket. Keeps the first and last
 * point and drops points without a value. Own code: the available packages are unmaintained.
 */
export function lttb<P extends Point>(series: readonly P[], maxPoints: number): readonly P[] {
  if (series.length <= maxPoints) return series;
  const points = series.flatMap((point) => (point.value === null ? [] : [{ point, value: point.value }]));
  if (points.length <= maxPoints) return points.map(({ point }) => point);

  const inner = points.length - 2;
  const buckets = maxPoints - 2;
  const edge = (bucket: number) => 1 + Math.floor((bucket * inner) / buckets);
  const kept = [0];
  for (let bucket = 0; bucket < buckets; bucket++) {
    const nextBucket = points.slice(edge(bucket + 1), bucket + 1 < buckets ? edge(bucket + 2) : undefined);
    const average = {
      x: edge(bucket + 1) + (nextBucket.length - 1) / 2,
      y: nextBucket.reduce((sum, { value }) => sum + value / nextBucket.length, 0),
    };
    const from = kept.at(-1) ?? 0;
    const areaAt = (index: number) => {
      const origin = points[from]?.value ?? 0;
      const value = points[index]?.value ?? 0;
      return Math.abs((from - average.x) * (value - origin) - (from - index) * (average.y - origin));
    };
    let best = edge(bucket);
    for (let index = best + 1; index < edge(bucket + 1); index++)
      if (areaAt(index) > areaAt(best)) best = index;
    kept.push(best);
  }
  kept.push(points.length - 1);
  return kept.flatMap((index) => points[index]?.point ?? []);
}
