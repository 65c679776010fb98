import type { Batch, Find, RunRead } from "../api/batches.ts";
import type { AnyEndpoint } from "../api/endpoint.ts";
import type { Demand } from "../client/bulkhead.ts";
import { batchFaultOf } from "../../errors.ts";
import type { Read, ReadAddress } from "./read.ts";

interface Member {
  readonly read: Read;
  readonly run: RunRead;
}

/** The positions that wait for the reads of a list. */
export class ListDemand implements Demand {
  readonly #members: readonly Member[];

  constructor(members: readonly Member[]) {
    this.#members = members;
  }

  get positions(): number {
    return this.#members.reduce((sum, { read }) => sum + read.positions, 0);
  }
}

interface Group {
  readonly batch: Batch;
  readonly members: readonly [Member, ...Member[]];
}

/** Reads that one list covers. `find` finds their records in its response. */
export interface ListGroup extends Group {
  readonly list: { readonly address: ReadAddress; readonly find: (response: unknown) => Find };
}

/** Groups reads that one list can cover, up to the size of its batch. */
export function groupsOf(reads: readonly Read[], batchOf: (endpoint: AnyEndpoint) => Batch | null): Group[] {
  const groups = new Map<string, { readonly batch: Batch; readonly members: [Member, ...Member[]] }>();
  const full: Group[] = [];
  for (const read of reads) {
    const { endpoint, part: run } = read.address;
    const batch = batchOf(endpoint);
    const common = run && batch?.common(run);
    if (!batch || !run || common == null) continue;
    const key = `${endpoint.path} ${common}`;
    const group = groups.get(key);
    if (!group || group.members.length >= batch.maxReads) {
      if (group) full.push(group);
      groups.set(key, { batch, members: [{ read, run }] });
    } else group.members.push({ read, run });
  }
  return [...full, ...groups.values()];
}

/** Picks a record from a list. Reads it singly when the list lacks it or failed, so that it gets its own error. */
export async function pick(
  found: Promise<Find>,
  run: RunRead,
  readSingle: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return (await found)(run) ?? readSingle();
  } catch (error) {
    if (batchFaultOf(error) === null) throw error;
    return readSingle();
  }
}
