import { pageOf, type Seen, startFake, type FakeResponse } from "./fake.ts";
import { startGateway } from "./gateway.ts";
import { globalId } from "./ids.ts";

export const PROJECT = globalId("Project:ada/mnist");
export const GROUP = globalId("Group:ada/mnist/5");
const HEADERS = { authorization: "token t0ken", "x-request-id": "request-1" };

/** Matches the message of `fetch` for a response that was aborted, even before its headers. */
export const BROKEN = /^(?:terminated|fetch failed)$/;

/** A row of the list of experiments of `ada/mnist`. Each experiment was created on a different day. */
export const row = (id: number, given: object = {}) => ({
  id,
  unique_name: `ada.mnist.${id}`,
  created_at: `2026-01-${String(id).padStart(2, "0")}T00:00:00Z`,
  ...given,
});

/** The response to a request: the requested page of a list, or the requested experiment, whose record has more fields than its row. */
export function readable(
  rows: readonly { readonly id: number }[],
  seen: Seen,
  more: object,
): FakeResponse | undefined {
  const id = /experiments\/(\d+)\/$/.exec(seen.path)?.[1];
  if (id === undefined) return pageOf(rows, seen);
  const found = rows.find((each) => `${each.id}` === id);
  return found && { json: { ...found, ...more } };
}

/** Starts a gateway in front of a service with these experiments, or with the given responses. `get` requests its exports. */
export async function startExports(
  rows: readonly object[] | ((seen: Seen) => FakeResponse | undefined | Promise<FakeResponse>),
  env: Record<string, string> = {},
) {
  const service = await startFake((seen) => (typeof rows === "function" ? rows(seen) : pageOf(rows, seen)));
  const gateway = await startGateway({
    upstream: service,
    env: { UPSTREAM_PROFILE: "polyaxon-0.4", ...env },
  });
  const get = (
    path: string,
    options: { method?: string; headers?: Record<string, string>; signal?: AbortSignal } = {},
  ) =>
    fetch(`${gateway.url}/export/${path}`, {
      ...options,
      // By default fetch accepts gzip.
      headers: { ...HEADERS, "accept-encoding": "identity", ...options.headers },
    });
  return { ...gateway, ...service, url: gateway.url, get };
}

/** The query of a URL with these parameters. Values other than strings are written as JSON. */
export const query = (parameters: Record<string, unknown>): string =>
  `?${new URLSearchParams(
    Object.entries(parameters).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  )}`;
