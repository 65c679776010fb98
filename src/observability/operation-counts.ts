import type { IncomingHttpHeaders } from "node:http";
import type { Registry } from "prom-client";
import { createNamedCounts, isName } from "./named-counts.ts";
import type { OperationReport } from "./reports.ts";

/** Headers by which clients name themselves and their version, of Apollo's and of other clients. */
export const CLIENT_HEADERS = [
  ["apollographql-client-name", "apollographql-client-version"],
  ["graphql-client-name", "graphql-client-version"],
] as const;

/** Maximum clients that are counted by name, each version for itself. */
const MAX_CLIENTS = 100;

/** Maximum operations that are counted by name. */
const MAX_OPERATIONS = 250;

/** A client as it names itself. */
export interface ClientName {
  readonly client: string;
  readonly version: string;
}

/** The client of a request: `other` if its name could be anything; null without one. */
export function clientOf(headers: IncomingHttpHeaders): ClientName | null {
  const [nameHeader, versionHeader] = CLIENT_HEADERS.find(([name]) => name in headers) ?? [];
  if (nameHeader === undefined) return null;
  const client = `${headers[nameHeader]}`;
  const version = `${headers[versionHeader ?? ""] ?? "unknown"}`;
  return isName(client) && isName(version) ? { client, version } : OTHER;
}

const OTHER: ClientName = { client: "other", version: "other" };

/**
 * Creates the counters of operations by their names and by client. Callers choose these names: only callers whose token the
 * service has accepted bring new ones.
 */
export function createOperationCounts(registers: Registry[], now: () => number) {
  const clients = createNamedCounts({
    labelNames: ["client", "version"],
    max: MAX_CLIENTS,
    metrics: [
      { name: "rungraph_client_operations_total", help: "GraphQL operations by client.", key: "operations" },
      {
        name: "rungraph_client_failed_operations_total",
        help: "GraphQL operations with errors, by client.",
        key: "failed",
      },
    ],
    registers,
    now,
  });
  const unknownClient = clients.fixed("unknown", "unknown");
  const otherClient = clients.fixed(OTHER.client, OTHER.version);
  const names = createNamedCounts({
    labelNames: ["type", "operation"],
    max: MAX_OPERATIONS,
    metrics: [
      {
        name: "rungraph_named_operations_total",
        help: "GraphQL operations by their names.",
        key: "operations",
      },
      {
        name: "rungraph_named_failed_operations_total",
        help: "GraphQL operations with errors, by their names.",
        key: "failed",
      },
      {
        name: "rungraph_named_operation_seconds_total",
        help: "Sum of the durations of GraphQL operations, by their names.",
        key: "seconds",
      },
    ],
    registers,
    now,
  });

  return ({ type, name, codes, ms, caller }: OperationReport, client: ClientName | null): void => {
    const isTrusted = caller.standing === "proven";
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
      counts.seconds += ms / 1000;
      if (codes.length > 0) counts.failed++;
    }
  };
}
