import type { ServerResponse } from "node:http";
import type { Caller, Callers, Quota } from "../caller.ts";
import { TransientList } from "../transient.ts";
import { breakOff, onceOver } from "./connection.ts";

/** A response and how many of its bytes wait for the reader. */
interface Waiting {
  readonly response: ServerResponse;
  readonly caller: Caller;
  bytes: number;
}

/** Counts the bytes of responses that wait for slow readers, and disconnects readers when there are too many. */
export class WaitingBytes {
  readonly #maxBytes: number;
  readonly #quota: Quota;
  /** In the order in which they began. */
  readonly #responses = new TransientList<Waiting>();

  constructor(maxBytes: number, callers: Callers) {
    this.#maxBytes = maxBytes;
    this.#quota = callers.quota({ total: maxBytes, perCaller: maxBytes });
  }

  get total(): number {
    return this.#quota.taken;
  }

  /** Returns a function that adds waiting bytes of a response, until it is over. */
  open(response: ServerResponse, caller: Caller): (bytes: number) => void {
    const link = this.#responses.add({ response, caller, bytes: 0 });
    onceOver(response, () => {
      this.#add(link.member, -link.member.bytes);
      this.#responses.remove(link);
    });
    return (bytes) => {
      if (!this.#responses.has(link)) return;
      this.#add(link.member, bytes);
      this.#shrink();
    };
  }

  #add(response: Waiting, bytes: number): void {
    response.bytes += bytes;
    this.#quota.add(response.caller, bytes);
  }

  /** Disconnects readers until the limit holds: the oldest response of the account with the most waiting bytes first. */
  #shrink(): void {
    while (this.total > this.#maxBytes) {
      const bytesOf = (account: Caller) => this.#quota.of(account);
      const largest = this.#quota
        .accounts()
        .reduce((most, each) => (bytesOf(each) > bytesOf(most) ? each : most));
      const oldest = this.#responses
        .members()
        .find(({ caller, bytes }) => caller.account === largest && bytes > 0);
      if (!oldest) return;
      this.#add(oldest, -oldest.bytes);
      breakOff(oldest.response);
    }
  }
}
