import type { IncomingHttpHeaders } from "node:http";
import { Counter, type Registry } from "prom-client";
import type { OperationDetails } from "../engine/engine.ts";

/** The name and version that a client sends about itself. */
export interface ClientName {
  readonly client: string;
  readonly version: string;
}

/** Matches names that are counted unchanged. */
const CLIENT_NAME = /^[\w@](?:[\w .@/:+-]{0,62}[\w+])?$/;

/**
 * Reads the name and version of the client from the headers that Apollo's or other clients send. Returns `other` for unusual values, and null
 * if the client sends no name.
 */
export function clientOf(headers: IncomingHttpHeaders): ClientName | null {
  const prefix = "apollographql-client-name" in headers ? "apollographql" : "graphql";
  const { [`${prefix}-client-name`]: name, [`${prefix}-client-version`]: given = "unknown" } = headers;
  if (name === undefined) return null;
  const client = `${name}`;
  const version = `${given}`;
  return CLIENT_NAME.test(client) && CLIENT_NAME.test(version) ? { client, version } : OTHER;
}

const OTHER: ClientName = { client: "other", version: "other" };

type Summed = "operations" | "failed" | "seconds";

interface Counts extends Record<Summed, number> {
  readonly labels: Readonly<Record<string, string>>;
  /** Time of the last use; infinite for names that are never evicted. */
  usedAt: number;
}

/**
 * How long a name must be unused before a new name may evict it, in milliseconds. A process therefore adds at most `max` names within this
 * time, no matter how many names callers send.
 */
const UNUSED_MS = 600_000;

interface NameSettings {
  readonly labelNames: readonly [string, string];
  /** Maximum pairs of names that callers choose. */
  readonly max: number;
  readonly metrics: readonly (readonly [name: string, help: string, key: Summed])[];
}

/** Creates counters by pairs of names. The counters are filled when the metrics are read, so that counting is a single lookup. */
function createNamedCounts(
  { labelNames, max, metrics }: NameSettings,
  registers: Registry[],
  now: () => number,
) {
  const all = new Map<string, Counts>();
  for (const [name, help, key] of metrics)
    void new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const { labels, [key]: count } of all.values()) this.inc(labels, count);
      },
    });

  // A line break separates the names in a key, because neither headers nor names contain one.
  const add = (first: string, second: string, usedAt: number): Counts => {
    const labels = { [labelNames[0]]: first, [labelNames[1]]: second };
    const counts = { labels, operations: 0, failed: 0, seconds: 0, usedAt };
    all.set(`${first}\n${second}`, counts);
    return counts;
  };

  /**
   * Whether a new pair of names may be added. If there is no room, evicts the least recently used pair, provided that it has been unused
   * for `UNUSED_MS`.
   */
  const hasCapacity = (): boolean => {
    const chosen = [...all].filter(([, { usedAt }]) => usedAt < Infinity);
    if (chosen.length < max) return true;
    const [key, { usedAt }] = chosen.reduce((oldest, each) =>
      each[1].usedAt < oldest[1].usedAt ? each : oldest,
    );
    return now() - usedAt >= UNUSED_MS && all.delete(key);
  };

  return {
    /** The counts of names that the gateway chooses. These few names are never evicted. */
    fixed: (first: string, second: string) => all.get(`${first}\n${second}`) ?? add(first, second, Infinity),
    /**
     * The counts of a pair of names that a caller chose; null if the pair is not counted separately. New names are added only if
     * `isTrusted` is set.
     */
    chosen: (first: string, second: string, isTrusted: boolean): Counts | null => {
      const isName = isTrusted && CLIENT_NAME.test(first) && CLIENT_NAME.test(second);
      const counts =
        all.get(`${first}\n${second}`) ?? (isName && hasCapacity() ? add(first, second, 0) : null);
      if (counts) counts.usedAt = Math.max(counts.usedAt, now());
      return counts;
    },
  };
}

const CLIENTS: NameSettings = {
  labelNames: ["client", "version"],
  max: 100,
  metrics: [
    ["rungraph_client_operations_total", "GraphQL operations by client.", "operations"],
    ["rungraph_client_failed_operations_total", "GraphQL operations with errors, by client.", "failed"],
  ],
};

const NAMES: NameSettings = {
  labelNames: ["type", "operation"],
  max: 250,
  metrics: [
    ["rungraph_named_operations_total", "GraphQL operations by their names.", "operations"],
    ["rungraph_named_failed_operations_total", "GraphQL operations with errors, by their names.", "failed"],
    [
      "rungraph_named_operation_seconds_total",
      "Sum of the durations of GraphQL operations, by their names.",
      "seconds",
    ],
  ],
};

/**
 * Creates the counters of operations by name and by client. Counting returns the name under which the client is counted. Callers choose
 * these names, so new names are added only with `isTrusted`.
 */
export function createOperationCounts(registers: Registry[], now: () => number) {
  const clients = createNamedCounts(CLIENTS, registers, now);
  const unknownClient = clients.fixed("unknown", "unknown");
  const otherClient = clients.fixed(OTHER.client, OTHER.version);
  const names = createNamedCounts(NAMES, registers, now);

  return (
    { type, name, codes }: OperationDetails,
    seconds: number,
    client: ClientName | null,
    isTrusted: boolean,
  ): string => {
    const ofClient =
      client === null
        ? unknownClient
        : (clients.chosen(client.client, client.version, isTrusted) ?? otherClient);
    const ofName =
      name === null
        ? names.fixed(type, "anonymous")
        : (names.chosen(type, name, isTrusted) ?? names.fixed(type, "other"));
    for (const counts of [ofClient, ofName]) {
      counts.operations++;
      counts.seconds += seconds;
      if (codes.length > 0) counts.failed++;
    }
    return `${ofClient.labels["client"]}`;
  };
}
