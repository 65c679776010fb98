import { pageOf } from "../support/fake.ts";
import { RELEASE_04, startBefore } from "../support/gateway.ts";

/**
 * Starts a gateway in front of a server of release 0.4. Every list of the server contains `rows`, paged by offset. Every request for a single
 * record returns `record`, or 404 if none is given. `filters` returns the `query` parameters that the server has received.
 */
export async function startRows(
  rows: readonly object[],
  env: Record<string, string> = {},
  record?: Readonly<Record<string, unknown>>,
) {
  const { service, ...gateway } = await startBefore(
    (seen) => (/\/\d+\/$/.test(seen.path) ? record && { json: record } : pageOf(rows, seen)),
    { ...RELEASE_04, ...env },
  );
  const filters = () =>
    service.seen().map(({ path }) => new URL(path, "http://service").searchParams.get("query"));
  return { ...gateway, service, calls: service.calls, filters };
}

/** An operation on fields of a project. */
export const inProject = (fields: string) => `{ project(id: "ada.mnist") { ${fields} } }`;
