import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import type { Caller } from "../../caller.ts";
import { UpstreamError } from "../../errors.ts";
import type { Place } from "../doors.ts";
import type { Parts } from "../operation.ts";

/** How long a client may have no subscription, in milliseconds. */
const IDLE_MS = 60_000;

/** Maximum bytes that wait for a client that goes on sending. They are more than it leaves unread in any pause that it survives. */
const MAX_WAITING_BYTES = 4_194_304;

/** Maximum subscribe messages without an answer. Above it nothing more is read from the client until some are answered. */
const MAX_UNANSWERED = 32;

/** Close codes after which clients connect again: later, or when they have something to subscribe to. */
const TRY_AGAIN_LATER = 1_013;
const NORMAL = 1_000;

/** The WebSocket of a client: its place, what it asks and does not read, and when it is idle. */
export class Client extends WebSocket {
  /** The headers and the socket that count for its operations. */
  request!: Pick<IncomingMessage, "headers" | "socket">;
  #parts!: Parts;
  #place!: Place;
  #unanswered = 0;
  /** Subscriptions, and subscribe messages that are not answered. */
  #used = 0;
  #cancelIdle = () => {};

  /** Gives a connection that has just been opened its place. */
  begin({ headers, socket }: IncomingMessage, place: Place, parts: Parts): void {
    const { "x-request-id": _id, ...own } = headers;
    // Each operation has a request id of its own.
    this.request = { headers: own, socket };
    this.#parts = parts;
    this.#place = place;
    // Each ping and message has an answer, which waits in memory for a client that does not read.
    const onReceived = () => this.bufferedAmount > MAX_WAITING_BYTES && this.terminate();
    this.on("ping", onReceived).on("message", onReceived);
    this.once("close", () => {
      this.#cancelIdle();
      this.#place.release();
    });
    this.#becomeIdle();
  }

  /** Takes a place for the caller that `connection_init` names. Closes the connection when there is none. */
  moveTo(caller: Caller): boolean {
    // First, so that it does not make room for itself by ending itself.
    this.#place.release();
    const place = this.#parts.doors.take("socket", caller);
    if (place instanceof UpstreamError) {
      this.close(TRY_AGAIN_LATER, place.message);
      return false;
    }
    this.#place = place;
    this.#becomeIdle();
    return true;
  }

  /** Records that a subscription begins. Returns a function that records its end, once. */
  use(): () => void {
    this.#used++;
    this.#cancelIdle();
    this.#place.markUsed();
    return () => {
      if (--this.#used === 0) this.#becomeIdle();
    };
  }

  /** Answers a subscribe message. While too many are unanswered, nothing more is read from the client. */
  async answering<Answer>(answer: () => Promise<Answer>): Promise<Answer> {
    if (++this.#unanswered > MAX_UNANSWERED) this.pause();
    try {
      return await answer();
    } finally {
      if (--this.#unanswered <= MAX_UNANSWERED) this.resume();
    }
  }

  /**
   * Calls back when the message has been handed to the operating system, also where the client has gone, which `graphql-ws`
   * would write to the console. A client that does not read is disconnected.
   */
  override send(text: string, done?: unknown): void {
    const cancel = this.#parts.clock.after(this.#parts.config.READ_TIMEOUT_MS, () => this.terminate());
    super.send(text, () => {
      cancel();
      if (typeof done === "function") done();
    });
  }

  /** While nothing uses the connection, newcomers may take its place, and it closes after a while. */
  #becomeIdle(): void {
    if (this.readyState !== this.OPEN) return;
    this.#place.markIdle(() => {
      this.close(TRY_AGAIN_LATER, "Others need the place");
      setImmediate(() => this.terminate());
    });
    this.#cancelIdle();
    this.#cancelIdle = this.#parts.clock.after(IDLE_MS, () => this.close(NORMAL, "Idle"));
  }
}
