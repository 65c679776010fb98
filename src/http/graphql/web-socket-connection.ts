import type { IncomingMessage } from "node:http";
import type { Caller } from "../../caller.ts";
import { UpstreamError } from "../../errors.ts";
import type { WebSocket } from "ws";
import type { Clock } from "../../clock.ts";
import type { Doors, Place } from "../doors.ts";

/** How often a connection is pinged, in milliseconds. A client that does not answer until the next ping is disconnected. */
const PING_INTERVAL_MS = 10_000;

/** How long a connection may have no subscription, in milliseconds. */
const IDLE_MS = 60_000;

/** How long a client may take to close its connection, in milliseconds. */
const CLOSING_MS = 2_000;

/** Maximum bytes that wait for a client. Above it nothing more is read from the client until it has read them. */
const MAX_WAITING_BYTES = 1_048_576;

/**
 * Maximum subscribe messages without an answer. Above it nothing more is read from the client until some are answered.
 */
const MAX_UNANSWERED = 32;

/** Close codes after which clients connect again: elsewhere, or later. */
const GOING_AWAY = 1_001;
const TRY_AGAIN_LATER = 1_013;

/** Close code after which clients connect again when they have something to subscribe to. */
const NORMAL = 1_000;

interface ConnectionSettings {
  readonly clock: Clock;
  readonly doors: Doors;
  /** How long a client may not read, in milliseconds. */
  readonly readTimeoutMs: number;
}

/** A WebSocket: its place, its subscriptions, its pings, and when it closes. */
export class Connection {
  readonly request: IncomingMessage;
  /** The authorization of `connectionParams`; undefined without one. */
  authorization: string | undefined;
  readonly #socket: WebSocket;
  readonly #settings: ConnectionSettings;
  #place: Place;
  #unanswered = 0;
  /** Subscriptions, and subscribe messages that are not answered. */
  #used = 0;
  #isAlive = true;
  #cancelPing: () => void;
  #cancelIdle = () => {};

  constructor(socket: WebSocket, request: IncomingMessage, place: Place, settings: ConnectionSettings) {
    this.request = request;
    this.#socket = socket;
    this.#place = place;
    this.#settings = settings;
    this.#cancelPing = settings.clock.after(PING_INTERVAL_MS, () => this.#ping());
    const onActivity = (): void => {
      this.#isAlive = true;
      this.#paceReading();
    };
    // Each ping and message has an answer, which waits in memory for a client that does not read.
    socket.on("pong", onActivity).on("ping", onActivity).on("message", onActivity);
    request.socket.on("drain", () => this.#paceReading());
    // A broken connection; `close` follows.
    socket.on("error", () => {});
    socket.once("close", () => {
      this.#cancelPing();
      this.#cancelIdle();
      this.#place.release();
    });
    this.#becomeIdle();
  }

  /** Takes a place for the caller that `connection_init` names. Closes the connection when there is none. */
  moveTo(caller: Caller): boolean {
    // First, so that it does not make room for itself by ending itself.
    this.#place.release();
    const place = this.#settings.doors.take("socket", caller);
    if (place instanceof UpstreamError) {
      this.close(TRY_AGAIN_LATER, place.message);
      return false;
    }
    this.#place = place;
    this.#becomeIdle();
    return true;
  }

  /** Records that a subscription begins. Returns a function that records its end. */
  use(): () => void {
    this.#used++;
    this.#cancelIdle();
    this.#place.markUsed();
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#used--;
      if (this.#used === 0) this.#becomeIdle();
    };
  }

  /** Answers a subscribe message. While too many are unanswered, nothing more is read from the client. */
  async answering<Answer>(answer: () => Promise<Answer>): Promise<Answer> {
    this.#unanswered++;
    this.#paceReading();
    try {
      return await answer();
    } finally {
      this.#unanswered--;
      this.#paceReading();
    }
  }

  /** Resolves when the message has been handed to the operating system. A client that does not read is disconnected. */
  send(text: string): Promise<void> {
    return new Promise((resolve) => {
      const socket = this.#socket;
      if (socket.readyState !== socket.OPEN) return resolve();
      const cancel = this.#settings.clock.after(this.#settings.readTimeoutMs, () => socket.terminate());
      socket.send(text, () => {
        cancel();
        resolve();
      });
    });
  }

  close(code: number, reason: string): void {
    this.#socket.close(code, reason);
    setTimeout(() => this.#socket.terminate(), CLOSING_MS).unref();
  }

  /** Closes the connection without completing its subscriptions, so that the client subscribes again elsewhere. */
  drain(): void {
    this.close(GOING_AWAY, "Going away");
  }

  /** While nothing uses the connection, newcomers may take its place, and it closes after a while. */
  #becomeIdle(): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#place.markIdle(() => {
      this.#socket.close(TRY_AGAIN_LATER, "Others need the place");
      setImmediate(() => this.#socket.terminate());
    });
    this.#cancelIdle();
    this.#cancelIdle = this.#settings.clock.after(IDLE_MS, () => this.close(NORMAL, "Idle"));
  }

  #paceReading(): void {
    const isBusy = this.#unanswered > MAX_UNANSWERED || this.#socket.bufferedAmount > MAX_WAITING_BYTES;
    if (isBusy) this.#socket.pause();
    else if (this.#socket.isPaused) this.#socket.resume();
  }

  #ping(): void {
    // While reading is paused, the pong waits behind other messages.
    if (!this.#isAlive && this.#unanswered <= MAX_UNANSWERED) return this.#socket.terminate();
    this.#isAlive = false;
    this.#socket.ping();
    this.#cancelPing = this.#settings.clock.after(PING_INTERVAL_MS, () => this.#ping());
  }
}
