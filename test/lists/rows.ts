import { pageOf } from "../support/fake.ts";
import { RELEASE_04, startBefore } from "../support/gateway.ts";

/**
 * Starts a gateway in front of a server of release 0.4 whose lists all have these rows, paged by offset. `filters` returns the filters that
 * the server has received. Every record is the given record, or is not found.
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
