interface Point {
  readonly value: number | null;
}

/**
 * Thins a series by largest triangles in three buckets (Steinarsson 2013): of each bucket the point stays that spans
 * the largest triangle with the point kept before it and the middle of the bucket behind it. The first and the last
 * point stay. Points without a value go first. Own code: the packages that do this are not kept up.
 */
export function lttb<P extends Point>(series: readonly P[], most: number): readonly P[] {
  if (series.length <= most) return series;
  const points = series.flatMap((point) => (point.value === null ? [] : [{ point, value: point.value }]));
  if (points.length <= most) return points.map(({ point }) => point);

  const inner = points.length - 2;
  const buckets = most - 2;
  const edge = (bucket: number) => 1 + Math.floor((bucket * inner) / buckets);
  const kept = [0];
  for (let bucket = 0; bucket < buckets; bucket++) {
    const behind = points.slice(edge(bucket + 1), bucket + 1 < buckets ? edge(bucket + 2) : undefined);
    const middle = {
      x: edge(bucket + 1) + (behind.length - 1) / 2,
      y: behind.reduce((sum, { value }) => sum + value / behind.length, 0),
    };
    const from = kept.at(-1) ?? 0;
    const areaAt = (index: number) => {
      const origin = points[from]?.value ?? 0;
      const value = points[index]?.value ?? 0;
      return Math.abs((from - middle.x) * (value - origin) - (from - index) * (middle.y - origin));
    };
    let best = edge(bucket);
    for (let index = best + 1; index < edge(bucket + 1); index++)
      if (areaAt(index) > areaAt(best)) best = index;
    kept.push(best);
  }
  kept.push(points.length - 1);
  return kept.flatMap((index) => points[index]?.point ?? []);
}
