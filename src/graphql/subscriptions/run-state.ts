import { isDeepStrictEqual } from "node:util";
import { isKnownKey, type TrackedRecord } from "../../rest/api/records.ts";
import type { Session } from "../../rest/session/session.ts";
import { type Resource, toResource } from "../core/resource.ts";

/** Keys that every list of runs has, so that one list can replace the reads of many runs. */
const KEYS = ["unique_name", "last_status", "updated_at", "started_at", "finished_at"];

/** Reads the record of a run: as a whole, or as the item of a list that covers several runs. */
export const readRun = <R extends TrackedRecord>(
  { kind, address }: Resource<R>,
  session: Session,
): Promise<Partial<R>> => kind.fetch(toResource(kind, address), KEYS, session);

/** Identifies a run among all kinds. */
export const keyOfRun = ({ kind, address }: Resource): string =>
  [kind.name, ...kind.parameters.map((name) => address[name])].join("/");

/** The record of before when it is equal in all known keys that both have, otherwise the new one. */
export function latestOf<Record extends object>(before: Record | null | undefined, now: Record): Record {
  if (!before || before === now) return now;
  const keys = Object.keys(now).filter((key) => isKnownKey(key) && key in before) as (keyof Record)[];
  return keys.every((key) => isDeepStrictEqual(before[key], now[key])) ? before : now;
}
