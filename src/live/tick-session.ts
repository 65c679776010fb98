import { UNPACED } from "../rest/session/batches.ts";
import { openSession, type SessionClient, type SharedSettings } from "../rest/session/session.ts";
import { type Identity, RequestScope } from "../request-scope.ts";
import type { TickSession } from "./ticker.ts";

interface Settings {
  readonly shared: SharedSettings;
  /** Maximum concurrent upstream requests. */
  readonly width: number;
  /** Longest time of a tick, in milliseconds. */
  readonly timeoutMs: number;
}

/** Returns a function that opens the session of a tick. */
export const tickSessions =
  (client: SessionClient, { timeoutMs, shared, width }: Settings) =>
  (identity: Identity, requests: number, onRequest: () => void): TickSession => {
    const scope = new RequestScope(identity, timeoutMs);
    let sent = 0;
    // Requests above the number are rejected, not sent.
    const count = () => void (sent++ < requests && onRequest());
    return {
      session: openSession(client, scope, {
        shared,
        bounds: { width, requests, yields: true, onRequest: count },
        isFresh: true,
        pacing: UNPACED,
        journal: null,
      }),
      end: () => scope.end("done"),
    };
  };
