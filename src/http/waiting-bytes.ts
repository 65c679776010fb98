import type { ServerResponse } from "node:http";
import { type Place, TransientList, TransientMap } from "../transient.ts";
import { onceOver } from "./connection.ts";

/** A response and how many of its bytes wait for the reader. */
interface Waiting {
  readonly response: ServerResponse;
  bytes: number;
}

/** The responses of a caller, in the order in which they began. */
interface Caller {
  readonly key: string;
  readonly responses: TransientList<Waiting>;
  bytes: number;
}

/** Counts the bytes of responses that wait for slow readers, and disconnects readers when there are too many. */
export class WaitingBytes {
  readonly #maxBytes: number;
  readonly #callers = new TransientMap<Caller>();
  total = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns a function that adds waiting bytes of a response, until it is over. */
  open(response: ServerResponse, callerKey: string): (bytes: number) => void {
    const caller = this.#callers.get(callerKey) ?? {
      key: callerKey,
      responses: new TransientList<Waiting>(),
      bytes: 0,
    };
    this.#callers.set(callerKey, caller);
    const place = caller.responses.add({ response, bytes: 0 });
    onceOver(response, () => this.#remove(caller, place));
    return (bytes) => {
      if (!caller.responses.has(place)) return;
      this.#change(caller, place.member, bytes);
      this.#shrink();
    };
  }

  #change(caller: Caller, response: Waiting, bytes: number): void {
    response.bytes += bytes;
    caller.bytes += bytes;
    this.total += bytes;
  }

  #remove(caller: Caller, place: Place<Waiting>): void {
    if (!caller.responses.has(place)) return;
    this.#change(caller, place.member, -place.member.bytes);
    caller.responses.remove(place);
    if (caller.responses.size === 0) this.#callers.delete(caller.key);
  }

  /** Disconnects readers until the limit holds: the oldest response of the caller with the most waiting bytes first. */
  #shrink(): void {
    while (this.total > this.#maxBytes) {
      const callers = this.#callers.values();
      const largest = callers.reduce((most, each) => (each.bytes > most.bytes ? each : most));
      const oldest = largest.responses.first;
      if (!oldest) return;
      this.#remove(largest, oldest);
      oldest.member.response.req.socket.destroy();
    }
  }
}
