import type { ResultPlace } from "../../engine/field-source.ts";

/** Some places by name, such as `group.experiments.nodes.0.buildJob`, and how many more there are. */
export interface NamedPlaces {
  readonly fields: readonly string[];
  readonly moreFields: number;
}

/** Maximum places that are named. */
const MAX_NAMED = 3;
/** Longest name, in characters: names consist of aliases, which callers choose. */
const MAX_NAME_LENGTH = 200;

export function pathOf(place: ResultPlace): readonly string[] {
  const path: string[] = [];
  for (let each = place; each.parent; each = each.parent) path.push(`${each.at}`);
  return path.toReversed();
}

export function firstOf(places: ReadonlySet<string>): NamedPlaces {
  const fields: string[] = [];
  for (const name of places) {
    if (fields.length === MAX_NAMED) break;
    fields.push(name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name);
  }
  return { fields, moreFields: places.size - fields.length };
}
