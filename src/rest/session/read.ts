import type { RunRead } from "../api/batches.ts";
import type { Get } from "../api/endpoint.ts";
import type { WindowRequest } from "./log-window.ts";
import type { ReadNote } from "./notes.ts";

/** The address of a response: an endpoint with its path, and the part of it that is needed. */
export interface ReadAddress {
  readonly endpoint: Get<never, unknown>;
  /** The path on this server, with the query. */
  readonly path: string;
  /** The part of a log to read; null for the whole response. */
  readonly window: WindowRequest | null;
  /** The keys that are needed, when a list item may replace the record; null for the whole record. */
  readonly part: RunRead | null;
  /** Identifies the whole response. */
  readonly key: string;
}

/** One GET of an operation. All fields with the same key share it. */
export class Read {
  readonly address: ReadAddress;
  readonly response: Promise<unknown>;
  /** Number of positions in the result that loaded it. */
  positions = 0;
  /** Null unless the operation is explained. */
  note: ReadNote | null = null;
  resolve: (response: unknown) => void = () => {};
  reject: (error: unknown) => void = () => {};

  constructor(address: ReadAddress) {
    this.address = address;
    this.response = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

/** The key of the cache. Partial reads have another one than the whole response, since a list item may lack keys. */
export const cacheKeyOf = ({ key, part }: ReadAddress): string => (part ? `${key} in part` : key);
