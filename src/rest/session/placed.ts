import type { Session } from "./session.ts";

/** Does something for a place of the result. `isAhead` tells that no field has asked for it yet. */
export type ForPlace = <Value>(act: () => Value, isAhead?: boolean) => Value;

/** The session of an explained operation at one place of its result, for which it reads and sends. */
export const placedSession = (session: Session, forPlace: ForPlace): Session => ({
  server: session.server,
  requireToken: () => session.requireToken(),
  read: (endpoint, at, wants) => forPlace(() => session.read(endpoint, at, wants)),
  prefetchList: (endpoint, run) => forPlace(() => session.prefetchList(endpoint, run), true),
  window: (endpoint, at, window) => forPlace(() => session.window(endpoint, at, window)),
  send: (endpoint, at, body) => forPlace(() => session.send(endpoint, at, body)),
  cut: () => session.cut(),
  as: (token) => placedSession(session.as(token), forPlace),
});
