import { never, type RecordedRow } from "../recorded-rows.ts";

/** What no client of the gateway needs. */
export const OTHER_ROWS: Readonly<Record<string, RecordedRow>> = {
  "project names": never("`User.projects` lists the names, with what else a list has"),
  "one status": never("a status is read with its history"),
  selection: never("the server has no way to read a selection here: groups are read as groups"),
  health: never("the gateway reports its own health, and notices by its requests whether the server answers"),
  "codes of a platform": never("they are of no use to a client of the gateway"),
};
