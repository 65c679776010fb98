import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { GraphQLSchema } from "graphql";
import type { Engine } from "../../engine/engine.ts";
import type { Context } from "../../graphql/core/context.ts";
import { createLive, type LiveSettings } from "../../live/live.ts";
import type { OperationReport } from "../../observability/telemetry.ts";
import type { RequestScope } from "../../request-scope.ts";
import type { Identify } from "../identity.ts";
import type { Doors } from "../doors.ts";
import type { Delivery } from "../delivery.ts";
import type { OperationSource } from "./context.ts";
import { createEventStreams } from "./event-stream.ts";
import { createStreamOpener } from "./open-stream.ts";
import { createWebSockets } from "./web-socket.ts";

interface Settings extends LiveSettings {
  readonly schema: GraphQLSchema;
  readonly engine: Engine;
  readonly identify: Identify;
  readonly delivery: Delivery;
  readonly doors: Doors;
  /** Deadline of one event, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** How long a client of a WebSocket may not read, in milliseconds. */
  readonly readTimeoutMs: number;
  /** Longest message of a WebSocket, in bytes. */
  readonly maxBytes: number;
  readonly origins: readonly string[];
  readonly openContext: (source: OperationSource) => Context;
  readonly onOperation: (report: OperationReport, headers: IncomingHttpHeaders) => void;
}

/** Creates the polls and the transports of subscriptions: event streams and WebSockets. */
export function createSubscriptions({ requestTimeoutMs, openContext, ...settings }: Settings) {
  const live = createLive(settings);
  const open = createStreamOpener({ live, doors: settings.doors, eventTimeoutMs: requestTimeoutMs });
  const openStream = (request: IncomingMessage, asked: RequestScope) =>
    open(asked, (scope, pacing, onRequest) =>
      openContext({ request, scope, pacing, onRequest, notes: null }),
    );
  const streams = createEventStreams(settings);
  const webSockets = createWebSockets({
    ...settings,
    openStream,
    requestTimeoutMs,
  });
  return {
    streams,
    openStream,
    upgrade: webSockets.upgrade,
    /** Ends all streams. */
    drain: (): void => {
      streams.drain();
      webSockets.drain();
    },
    polls: () => live.polls(),
  };
}
