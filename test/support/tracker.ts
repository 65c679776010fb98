import { readFileSync } from "node:fs";
import { fileWith } from "./build.ts";
import { type Seen, startFake, type FakeResponse } from "./fake.ts";
import records from "./tracker.json" with { type: "json" };

/** The example of docs/server-profiles.md. */
export function documentedProfile(): string {
  const text = readFileSync(new URL("../../docs/server-profiles.md", import.meta.url), "utf8");
  const [, example] = /^```yaml\n(.*?)^```/ms.exec(text) ?? [];
  if (!example) throw new TypeError("docs/server-profiles.md has no example");
  return example;
}

export const profileFile = (text: string, name = "server.yaml") => fileWith(text, name);

const { projects, statuses, ...LISTS } = records;

const config = { version: 1, kind: "experiment" };

const MAX_LIMIT = 50;

/** The page that starts at the requested offset. A limit that is too large is an error. */
function page(items: readonly object[], params: URLSearchParams): FakeResponse {
  const limit = Number(params.get("limit") ?? 5);
  if (limit > MAX_LIMIT) return { json: { detail: "limit is too large" }, status: 400 };
  const start = Number(params.get("from"));
  return { json: { results: items.slice(start, start + limit), count: items.length } };
}

const KNOWN = new Set(["limit", "from", "order_by", "direction", "search", "sweep", "ids"]);

function list(
  all: readonly { id: number; experiment_group?: string | null }[],
  params: URLSearchParams,
): FakeResponse {
  const unverifiedCaller = [...params.keys()].find((name) => !KNOWN.has(name));
  if (unverifiedCaller) return { json: { detail: `unknown parameter ${unverifiedCaller}` }, status: 400 };
  const ids = params.get("ids")?.split(",");
  const sweep = params.get("sweep");
  const found = all
    .filter(({ id }) => ids?.includes(`${id}`) ?? true)
    .filter((each) => sweep === null || each.experiment_group === `ada.mnist.${sweep}`);
  return page(params.get("direction") === "desc" ? found.toReversed() : found, params);
}

const RECORDS: Readonly<Record<string, readonly { readonly id: number }[]>> = {
  ...LISTS,
  groups: LISTS.sweeps,
};

function answer({ method, path, headers }: Seen): FakeResponse | undefined {
  const { pathname, searchParams } = new URL(path, "http://tracker");
  if (headers["authorization"] !== "Bearer t0ken") return { json: { detail: "Who are you?" }, status: 401 };
  if (pathname === "/v2/users/") return { json: { username: "ada" } };
  if (pathname === "/v2/accounts/ada/projects") return page(projects, searchParams);
  const [, kind = "", id, action] =
    /^\/v2\/(?:projects\/)?ada\/mnist\/(\w+)(?:\/(\d+)(?:\/(\w+))?)?\/?$/.exec(pathname) ?? [];
  if (method === "POST") return action === "cancel" ? { json: {} } : undefined;
  if (id === undefined) return kind in LISTS ? list(RECORDS[kind] ?? [], searchParams) : undefined;
  const record = RECORDS[kind]?.find((each) => `${each.id}` === id);
  if (action === "statuses") return page(statuses, searchParams);
  return record && { json: { ...record, config } };
}

/** Starts a server that differs from all known servers in everything but the keys of its records. */
export const startTracker = () => startFake(answer);
