import type { ServerResponse } from "node:http";
import type { Caller, Callers, Room } from "../caller.ts";
import { type Link, TransientList } from "../transient.ts";
import { breakOff, onceOver } from "./connection.ts";

/** A response and how many of its bytes wait for the reader. */
interface Waiting {
  readonly response: ServerResponse;
  bytes: number;
}

/** The responses of an account, in the order in which they began. */
interface Account {
  readonly responses: TransientList<Waiting>;
  bytes: number;
}

/** Counts the bytes of responses that wait for slow readers, and disconnects readers when there are too many. */
export class WaitingBytes {
  readonly #maxBytes: number;
  readonly #accounts: Room<Account>;
  total = 0;

  constructor(maxBytes: number, callers: Callers) {
    this.#maxBytes = maxBytes;
    this.#accounts = callers.room(() => ({ responses: new TransientList<Waiting>(), bytes: 0 }));
  }

  /** Returns a function that adds waiting bytes of a response, until it is over. */
  open(response: ServerResponse, { account }: Caller): (bytes: number) => void {
    const own = account.enter(this.#accounts);
    const place = own.responses.add({ response, bytes: 0 });
    onceOver(response, () => {
      this.#remove(own, place);
      account.leave(this.#accounts);
    });
    return (bytes) => {
      if (!own.responses.has(place)) return;
      this.#change(own, place.member, bytes);
      this.#shrink();
    };
  }

  #change(account: Account, response: Waiting, bytes: number): void {
    response.bytes += bytes;
    account.bytes += bytes;
    this.total += bytes;
  }

  #remove(account: Account, place: Link<Waiting>): void {
    if (!account.responses.has(place)) return;
    this.#change(account, place.member, -place.member.bytes);
    account.responses.remove(place);
  }

  /** Disconnects readers until the limit holds: the oldest response of the account with the most waiting bytes first. */
  #shrink(): void {
    while (this.total > this.#maxBytes) {
      const largest = this.#accounts.parts().reduce((most, each) => (each.bytes > most.bytes ? each : most));
      const oldest = largest.responses.first;
      if (!oldest) return;
      this.#remove(largest, oldest);
      breakOff(oldest.member.response);
    }
  }
}
