import type { RequestScope } from "../../request-scope.ts";

/** An operation that holds a response. */
interface Holder {
  readonly scope: RequestScope;
  /** Counts bytes until the scope ends. Throws `UpstreamError` above the limit of the caller. */
  readonly hold: (bytes: number) => void;
}

/** An operation that waits for a response. */
export interface Receiver extends Holder {
  readonly resolve: (response: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A response that several operations of a caller hold. Its bytes count once, for one of them at a time, as long as there
 * is one. Refers to no operation that has ended, so that a kept response does not keep all that an operation has read.
 */
export class SharedResponse {
  readonly bytes: number;
  readonly #value: unknown;
  /** The operation for which the bytes count; null when all have ended. */
  #counting: Holder | null = null;
  readonly #others = new Set<Holder>();

  /** `owner` has received the response and has counted its bytes. */
  constructor(value: unknown, bytes: number, owner: Holder) {
    this.#value = value;
    this.bytes = bytes;
    this.#counting = owner;
    owner.scope.onEnd(() => this.#remove(owner));
  }

  /** Passes the response to another operation. */
  deliver(receiver: Receiver): void {
    const { scope, resolve, reject } = receiver;
    try {
      if (this.#counting) this.#others.add(receiver);
      else this.#count(receiver);
      scope.onEnd(() => this.#remove(receiver));
      resolve(this.#value);
    } catch (error) {
      reject(error);
    }
  }

  #count(holder: Holder): void {
    this.#counting = holder;
    holder.hold(this.bytes);
  }

  #remove(holder: Holder): void {
    this.#others.delete(holder);
    if (this.#counting !== holder) return;
    this.#counting = null;
    const [next] = this.#others;
    if (!next) return;
    this.#others.delete(next);
    try {
      this.#count(next);
    } catch {
      // They are counted; the next read of the caller reports the limit.
    }
  }
}
