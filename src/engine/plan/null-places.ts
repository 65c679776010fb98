import type { GraphQLError } from "graphql";
import type { Path } from "./pieces.ts";

const beginsWith = (path: Path, above: Path): boolean => above.every((key, index) => path[index] === key);

const below = (value: unknown, key: string | number): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;

/** Where an error has made a part of a result null. It stays null, whatever other parts have there. */
export class NullPlaces {
  readonly #places: Path[] = [];

  /** Adds those of an object or list at a path. */
  add(errors: readonly GraphQLError[], container: unknown, at: Path): void {
    for (const { path } of errors) {
      if (!path) continue;
      let value = container;
      const end = path.findIndex((key, index) => {
        if (index >= at.length) value = below(value, key);
        return value === null || value === undefined;
      });
      if (value === null && end >= at.length) this.#places.push(path.slice(0, end + 1));
    }
  }

  /** Whether a path leads through one. */
  cover(path: Path): boolean {
    return this.#places.some((place) => beginsWith(path, place));
  }

  /** What is delivered at a path, with null where it is null already. */
  applied<Value>(value: Value, at: Path): Value | null {
    for (const place of this.#places) {
      if (beginsWith(at, place)) return null;
      if (!beginsWith(place, at)) continue;
      const keys = place.slice(at.length);
      const last = keys.pop() ?? "";
      const container = keys.reduce<unknown>(below, value);
      if (below(container, last) !== undefined) Reflect.set(Object(container), last, null);
    }
    return value;
  }
}
