import { Failure, OVERLOADED } from "../../errors.ts";
import { attempt, type AttemptSettings, type Exchange } from "./attempt.ts";
import type { Breaker } from "./breaker.ts";
import type { Connections } from "./connections.ts";
import { endedError, throttledError } from "./failure.ts";
import type { Order } from "./order.ts";
import type { PacedOutcome, Pacer } from "./pacer.ts";
import { type Retries, throttledMs } from "./retry.ts";

export interface Road extends AttemptSettings {
  readonly breaker: Breaker;
  readonly connections: Connections;
  readonly retries: Retries;
  /** The pacer of the token of a request; null without one. */
  readonly pacerOf: (order: Order) => Pacer | null;
}

/**
 * Asks the service: in the pace of the token, on a connection in its turn, while the circuit is closed, and again where that
 * can help. A command does not wait for its pace, because people click once, and is never sent again; after a refusal none of its
 * operation is sent. Rejects with `Failure`, and with `Cancelled` when nobody wants the response any more. `isConnected`: it
 * has a connection from `Connections.queue`.
 */
export async function ask<Part>(
  road: Road,
  order: Order,
  isConnected: boolean,
  exchange: Exchange<Part>,
): Promise<Part> {
  const { request, requester, asker } = order;
  const { life } = asker;
  const { breaker, connections, retries } = road;
  // Operations that have begun are not rejected halfway.
  if (!requester.hasBegun && connections.turnAway(requester.scope.caller))
    throw new Failure("SERVICE_OVERLOADED", OVERLOADED);
  requester.hasBegun = true;
  const isRead = request.endpoint.method === "GET";
  const pacer = road.pacerOf(order);
  let attempts = 0;
  for (;;) {
    const paced = isRead && !isConnected ? pacer?.turn(order) : pacer?.letPass();
    if (paced) await paced;
    let outcome: PacedOutcome = "unsent";
    let pauseMs: number | null = null;
    try {
      // The text and the variables that it is made of, where characters may take two bytes.
      if (request.body) asker.hold(4 * request.body.length);
      const waiting = isConnected ? null : connections.turn(order);
      if (waiting) await waiting;
      isConnected = true;
      if (life.ended) throw endedError(request.endpoint, life, false);
      // The service has refused another one meanwhile.
      if (isRead && pacer?.isRefused()) continue;
      if (!isRead && requester.isThrottled) throw throttledError(request.endpoint, pacer?.waitMs(false) ?? 0);
      if (attempts === 0) asker.charge();
      // Before more is read.
      requester.held.check();
      const generation = breaker.enter();
      outcome = "allowed";
      pacer?.countSent();
      attempts++;
      return await attempt(road, order, exchange, generation);
    } catch (error) {
      if (outcome === "allowed") outcome = throttledMs(error) ?? outcome;
      // A subscription reads again anyway.
      pauseMs = isRead && !requester.yields ? retries.pauseAfter(error, attempts, life) : null;
      requester.isThrottled ||=
        pauseMs === null && error instanceof Failure && error.facts.upstream?.status === 429;
      if (pauseMs === null) throw error;
      request.note?.add({ kind: "wait" });
    } finally {
      // Who has the connection next must know what has become of this one.
      pacer?.leave(outcome);
      if (isConnected) connections.leave(requester);
      isConnected = false;
    }
    // Who leaves meanwhile is asked for no more afterwards.
    if (pauseMs > 0) await new Promise((resume) => void setTimeout(resume, pauseMs));
  }
}
