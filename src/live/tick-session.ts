import type { Client, Upstream } from "../rest/client/client.ts";
import { openSession, type SessionSettings } from "../rest/session/session.ts";
import { type Identity, openScope } from "../request-scope.ts";
import type { TickSession } from "./ticker.ts";

type Opener = Pick<Client, "open">;

/** The client with a callback for each request of its sessions. */
export const counted = (client: Opener, onRequest: () => void): Opener => ({
  open: (scope, bounds): Upstream => {
    const { json, readPart } = client.open(scope, bounds);
    return {
      json: (request) => {
        onRequest();
        return json(request);
      },
      readPart: (request, read) => {
        onRequest();
        return readPart(request, read);
      },
    };
  },
});

interface Settings extends Omit<SessionSettings, "requests" | "pacing"> {
  /** Longest time of a tick, in milliseconds. */
  readonly timeoutMs: number;
}

/** Returns a function that opens the session of a tick. */
export const tickSessions =
  (client: Opener, { timeoutMs, ...settings }: Settings) =>
  (identity: Identity, requests: number, onRequest: () => void): TickSession => {
    // No time for retries: the next tick reads again.
    const scope = { ...openScope(identity, timeoutMs), deadline: 0 };
    const pacing = {
      isStopped: () => false,
      isWaiting: () => false,
      onPassed: (callback: () => void) => callback(),
    };
    let sent = 0;
    // Requests above the number are rejected, not sent.
    const count = () => void (sent++ < requests && onRequest());
    return {
      session: openSession(counted(client, count), scope, { ...settings, requests, pacing }),
      end: () => scope.end("done"),
    };
  };
