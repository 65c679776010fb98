import type { IncomingHttpHeaders } from "node:http";
import { Counter, type Registry } from "prom-client";

/** Headers by which clients name themselves and their version, of Apollo's and of other clients. */
export const CLIENT_HEADERS = [
  ["apollographql-client-name", "apollographql-client-version"],
  ["graphql-client-name", "graphql-client-version"],
] as const;

/** Maximum clients that are counted by name, each version for itself. Callers choose the names, so they are bounded. */
const MAX_CLIENTS = 100;

/** Names and versions that are counted as they are. */
const NAME = /^[\w@](?:[\w .@/:+-]{0,62}[\w+])?$/;

interface Client {
  readonly labels: { readonly client: string; readonly version: string };
  operations: number;
  failed: number;
}

/** Creates the counters of operations by client. They are filled when they are read: counting is one look-up. */
export function createClientCounts(registers: Registry[]) {
  const unknown = openClient("unknown", "unknown");
  const other = openClient("other", "other");
  const versions = new Map<string, Map<string, Client>>();
  const clients = [unknown, other];

  counter("rungraph_client_operations_total", "GraphQL operations by client.", "operations");
  counter("rungraph_client_failed_operations_total", "GraphQL operations with errors, by client.", "failed");

  function counter(name: string, help: string, key: "operations" | "failed"): void {
    void new Counter({
      name,
      help,
      labelNames: ["client", "version"],
      registers,
      collect() {
        this.reset();
        for (const client of clients) this.inc(client.labels, client[key]);
      },
    });
  }

  const open = (name: string, version: string): Client => {
    if (clients.length >= MAX_CLIENTS || !NAME.test(name) || !NAME.test(version)) return other;
    const client = openClient(name, version);
    clients.push(client);
    versions.set(name, (versions.get(name) ?? new Map<string, Client>()).set(version, client));
    return client;
  };

  return {
    count: (headers: IncomingHttpHeaders, isFailed: boolean): void => {
      const [nameHeader, versionHeader] = CLIENT_HEADERS.find(([name]) => name in headers) ?? [];
      const name = nameHeader && headers[nameHeader];
      const version = (versionHeader && headers[versionHeader]) ?? "unknown";
      const client =
        name === undefined
          ? unknown
          : (versions.get(`${name}`)?.get(`${version}`) ?? open(`${name}`, `${version}`));
      client.operations++;
      if (isFailed) client.failed++;
    },
  };
}

const openClient = (client: string, version: string): Client => ({
  labels: { client, version },
  operations: 0,
  failed: 0,
});
