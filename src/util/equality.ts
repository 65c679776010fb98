type ByName = Readonly<Record<string, unknown>>;

/** Whether two values of JSON are equal. `isDeepStrictEqual` takes up to five times as long as parsing them. */
export function areEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || !one || !other) return false;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => areEqual(item, other[index]));
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  // Safe: both are objects and no arrays.
  const [first, second] = [one as ByName, other as ByName];
  return names.every((name) => Object.hasOwn(second, name) && areEqual(first[name], second[name]));
}
