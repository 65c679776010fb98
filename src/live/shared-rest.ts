import type { Clock } from "../clock.ts";

/** The rest of an open response. */
export interface Rest<Part> {
  /** Reads the next part. Rejects when the response fails. */
  readonly next: () => Promise<Part>;
  /** Ends the response. */
  readonly close: () => void;
}

/** How long the others wait for a subscriber that takes no part, in milliseconds. It then reads on by itself. */
const PATIENCE_MS = 5_000;

interface Callbacks<Member, Part> {
  readonly onPart: (members: readonly Member[], part: Part) => void;
  readonly onFailure: (members: readonly Member[]) => void;
  /** Called for a member that does not read on together with the others. */
  readonly onLeft: (member: Member) => void;
}

/**
 * The rest of a response that several subscribers read on together. Its next part is read when all of them have taken
 * the last one, so that it is sent once and one part of it is held. Nobody holds it open for long without reading.
 */
export class SharedRest<Member, Part> {
  readonly #rest: Rest<Part>;
  readonly #members: Set<Member>;
  readonly #waiting = new Set<Member>();
  readonly #callbacks: Callbacks<Member, Part>;
  readonly #cancelTimer: () => void;
  #isReading = false;

  constructor(
    clock: Clock,
    rest: Rest<Part>,
    members: readonly Member[],
    callbacks: Callbacks<Member, Part>,
  ) {
    this.#rest = rest;
    this.#members = new Set(members);
    this.#callbacks = callbacks;
    this.#cancelTimer = clock.after(PATIENCE_MS, () => {
      for (const member of members) if (!this.#waiting.has(member)) this.leave(member);
    });
  }

  /** The member waits for the next part. */
  wait(member: Member): void {
    this.#waiting.add(member);
    this.#readWhenAllWait();
  }

  leave(member: Member): void {
    if (!this.#members.delete(member)) return;
    this.#waiting.delete(member);
    this.#callbacks.onLeft(member);
    if (this.#members.size > 0) {
      this.#readWhenAllWait();
      return;
    }
    this.#cancelTimer();
    this.#rest.close();
  }

  #readWhenAllWait(): void {
    if (this.#isReading || this.#waiting.size < this.#members.size) return;
    this.#isReading = true;
    this.#cancelTimer();
    const { onPart, onFailure } = this.#callbacks;
    this.#rest.next().then(
      (part) => onPart([...this.#members], part),
      () => onFailure([...this.#members]),
    );
  }
}
