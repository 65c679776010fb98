import { startBefore } from "../support/gateway.ts";

/**
 * A gateway before a server of release 0.4 whose lists all have these rows, paged by offset, and the filters which that
 * server gets. Single records are the given one, or not found.
 */
export async function startRows(
  rows: readonly object[],
  env: Record<string, string> = {},
  record?: Readonly<Record<string, unknown>>,
) {
  const { service, ...gateway } = await startBefore(
    ({ path }) => {
      const { pathname, searchParams } = new URL(path, "http://service");
      if (/\/\d+\/$/.test(pathname)) return record && { json: record };
      const offset = Number(searchParams.get("offset"));
      const results = rows.slice(offset, offset + Number(searchParams.get("limit") ?? 20));
      return { json: { count: rows.length, next: null, results } };
    },
    { UPSTREAM_PROFILE: "polyaxon-0.4", ...env },
  );
  const filters = () =>
    service.seen().map(({ path }) => new URL(path, "http://service").searchParams.get("query"));
  return { ...gateway, service, calls: service.calls, filters };
}

/** An operation on fields of a project. */
export const inProject = (fields: string) => `{ project(id: "ada.mnist") { ${fields} } }`;
