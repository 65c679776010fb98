import type { PothosTypes } from "./builder.ts";
import { encodeId } from "./ids.ts";

/** How an entry of a list is told apart: it has a number, and no name or endpoint of its own. */
interface Identified<Entry> {
  readonly type: string;
  /** What the id has before the number. */
  readonly within: (entry: Entry) => readonly string[];
  readonly number: (entry: Entry) => number;
}

/** The fields `id` and `internalId` of what is found only in a list. */
export const entryIds = <Entry>(
  t: PothosSchemaTypes.ObjectFieldBuilder<PothosTypes, Entry>,
  { type, within, number }: Identified<Entry>,
) => ({
  id: t.id({
    nullable: false,
    description: "Global id for client caches. Nothing can be looked up by it.",
    resolve: (entry) => encodeId(type, [...within(entry), `${number(entry)}`]),
  }),
  internalId: t.id({
    nullable: false,
    description: "Integer id in the service.",
    resolve: (entry) => `${number(entry)}`,
  }),
});
