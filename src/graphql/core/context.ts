import type { PlacedContext, ResultPlace } from "../../engine/field-source.ts";
import { type ForPlace, placedSession } from "../../rest/session/placed.ts";
import type { CallerLive } from "../../live/live.ts";
import type { Capability } from "../../rest/api/server.ts";
import type { Session } from "../../rest/session/session.ts";
import type { TypeNames } from "./type-names.ts";

/** The gateway's version, capabilities and limits, which the field `gateway` exposes. */
export interface GatewayFacts {
  readonly version: string;
  readonly upstreamApiVersion: string;
  readonly capabilities: readonly Capability[];
  readonly maxDepth: number;
  readonly maxUpstreamRequests: number;
  readonly maxPageSize: number;
  readonly maxLogBytes: number;
}

/** The context of resolvers, one per GraphQL request. */
export interface Context extends PlacedContext {
  readonly session: Session;
  readonly gateway: GatewayFacts;
  /** The served names of types. */
  readonly names: TypeNames;
  /** Root of the download URLs, without a trailing slash. */
  readonly publicUrl: string;
  /** Whether selections are prefetched. Tests switch it off to compare. */
  readonly lookAhead: boolean;
  /** Called when a link costs no upstream request; null unless the operation is explained. */
  readonly onFree: (() => void) | null;
  readonly at: ((place: ResultPlace) => Context) | null;
}

/** Notes for which places of the result an explained operation reads. */
export interface PlaceNotes {
  readonly forPlace: (place: ResultPlace) => ForPlace;
  readonly free: (place: ResultPlace) => void;
}

/** The context of an explained operation at one place of its result. */
export const contextFor = (context: Context, place: ResultPlace, notes: PlaceNotes): Context => ({
  get session() {
    return placedSession(context.session, notes.forPlace(place));
  },
  gateway: context.gateway,
  names: context.names,
  get publicUrl() {
    return context.publicUrl;
  },
  lookAhead: context.lookAhead,
  onFree: () => notes.free(place),
  place,
  at: context.at,
});

/** The context of the object whose field has this context: its record is loaded for the object. */
export const contextAbove = (context: Context): Context =>
  context.at && context.place?.parent ? context.at(context.place.parent) : context;

/** The context in which a subscription begins. Its events are executed in contexts of their own. */
export interface StreamContext extends Context {
  readonly live: CallerLive;
}
