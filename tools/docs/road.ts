interface Station {
  /** The functions that a read calls on its way to the service. */
  readonly down: readonly string[];
  /** Those on the way of the answer; none where a function goes on after an `await`. */
  readonly up: readonly string[];
  readonly does: string;
}

/** The files of the picture, in the order in which a read comes to them. A test compares them with a trip. */
export const STATIONS: Readonly<Record<string, Station>> = {
  "http/router.ts": {
    down: ["route", "run"],
    up: [],
    does: "a place, the body, a turn of the caller",
  },
  "http/delivery.ts": { down: [], up: ["send"], does: "writes the result, no faster than it is read" },
  "http/graphql/handler.ts": { down: ["execute", "operate"], up: [], does: "one result, or many" },
  "engine/engine.ts": {
    down: ["run", "planOf", "resultOf"],
    up: ["finish"],
    does: "the document, its limits and plan; public errors",
  },
  "http/operation.ts": {
    down: ["openContext", "session"],
    up: [],
    does: "the context of the resolvers, with the session of their reads",
  },
  "engine/plan/run.ts": {
    down: ["runFields", "settle"],
    up: ["inTurn", "settle"],
    does: "resolves fields, completes their values",
  },
  "engine/plan/complete.ts": {
    down: ["completeSelected"],
    up: [],
    does: "values by their types; of records first what is selected",
  },
  "graphql/core/prefetch.ts": {
    down: ["loadSelected"],
    up: [],
    does: "what is selected of a record: is it loaded?",
  },
  "graphql/core/resource.ts": {
    down: ["fetchMore"],
    up: [],
    does: "loads a record when a key of it is missing",
  },
  "graphql/core/kinds.ts": { down: ["fetch"], up: [], does: "how its kind reads it" },
  "rest/session/session.ts": { down: ["read"], up: [], does: "the reads of one operation" },
  "rest/session/batches.ts": {
    down: ["load", "schedule", "start"],
    up: [],
    does: "gathers the reads of a tick; many become one list",
  },
  "rest/session/reads.ts": {
    down: ["start", "send"],
    up: [],
    does: "joins an equal read of the caller, or begins one",
  },
  "rest/client/client.ts": {
    down: ["queue", "whole"],
    up: [],
    does: "where a read waits first; what is wanted of the response",
  },
  "rest/client/connections.ts": {
    down: ["queue", "turn"],
    up: ["leave"],
    does: "a connection, in turns with others",
  },
  "rest/session/entry.ts": {
    down: ["go"],
    up: ["hold", "succeed"],
    does: "one GET: who waits for it, until when",
  },
  "rest/client/road.ts": { down: ["ask"], up: [], does: "all below, and again if that can help" },
  "rest/client/pacer.ts": { down: ["turn", "countSent"], up: ["leave"], does: "the pace of the token" },
  "rest/client/breaker.ts": { down: ["enter"], up: ["leave"], does: "the circuit" },
  "rest/client/attempt.ts": {
    down: ["attempt"],
    up: ["judgeToken"],
    does: "one try: counted, traced, judged, reported",
  },
  "rest/client/transport.ts": {
    down: ["send"],
    up: ["onHeaders", "onComplete"],
    does: "HTTP",
  },
  "rest/client/response.ts": { down: [], up: ["readResponse"], does: "parsing, in turns of the caller" },
};

/** The way of a read through the files: down on the left, up on the right. */
export function picture(): string {
  const rows = Object.entries(STATIONS).map(([file, { down, up, does }]) => [
    file,
    down.length > 0 ? `↓ ${down.join(", ")}` : "↓",
    up.length > 0 ? `↑ ${up.join(", ")}` : "↑",
    does,
  ]);
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return ["```text", ...lines, "```"].join("\n");
}
