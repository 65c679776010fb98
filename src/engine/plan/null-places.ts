import type { GraphQLError } from "graphql";
import type { Path } from "./pieces.ts";

const beginsWith = (path: Path, above: Path): boolean => above.every((key, index) => path[index] === key);

const below = (value: unknown, key: string | number): unknown => Reflect.get(Object(value), key);

/** Where an error has made a part of a result null. It stays null, whatever other parts have there. */
export class NullPlaces {
  readonly #places: Path[] = [];

  /** Enters those of an object or list at a path, and makes it null there where others are. */
  enter(errors: readonly GraphQLError[], container: unknown, at: Path): void {
    for (const { path } of errors) {
      if (!path) continue;
      let value = container;
      const end = path.findIndex((key, index) => index >= at.length && (value = below(value, key)) === null);
      if (end >= 0) this.#places.push(path.slice(0, end + 1));
    }
    for (const place of this.#places) {
      if (place.length <= at.length || !beginsWith(place, at)) continue;
      const key = place.at(-1) ?? "";
      const parent = place.slice(at.length, -1).reduce<unknown>(below, container);
      if (below(parent, key) !== undefined) Reflect.set(Object(parent), key, null);
    }
  }

  /** Whether a path leads through one. */
  cover(path: Path): boolean {
    return this.#places.some((place) => beginsWith(path, place));
  }
}
