import { Counter, type Registry } from "prom-client";
import type { CoordinatesOf, SelectedFields } from "../engine/coordinates.ts";

/** Maximum names of clients in addition to `other`. Together with the number of fields in the schema, it limits the number of series. */
const MAX_CLIENTS = 25;

/**
 * Counts the operations that select each field, by client. A field counts once per operation, under the type or interface on which the
 * document selects it.
 */
export function createFieldCounts(coordinatesOf: CoordinatesOf, registers: Registry[]) {
  const byClient = new Map<string, Map<string, number>>();
  void new Counter({
    name: "rungraph_field_requests_total",
    help: "GraphQL operations that select a field, by the coordinate of the field and the client.",
    labelNames: ["coordinate", "client"],
    registers,
    collect() {
      this.reset();
      for (const [client, counts] of byClient)
        for (const [coordinate, count] of counts) this.inc({ coordinate, client }, count);
    },
  });

  return (selected: SelectedFields, client: string): void => {
    const name = byClient.has(client) || byClient.size < MAX_CLIENTS ? client : "other";
    const counts = byClient.get(name) ?? new Map<string, number>();
    byClient.set(name, counts);
    for (const coordinate of coordinatesOf(selected))
      counts.set(coordinate, (counts.get(coordinate) ?? 0) + 1);
  };
}
