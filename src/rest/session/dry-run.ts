import { Readable } from "node:stream";
import { runKinds } from "../api/kinds.ts";
import type { Profile } from "../api/profile.ts";
import type { Reading } from "../api/record.ts";
import { KNOWN_KEYS } from "../api/records.ts";
import { formatReference } from "../api/reference.ts";
import type { UpstreamRequest } from "../client/request.ts";
import { headOf } from "../client/transport.ts";
import type { UpstreamCall } from "../client/upstream-call.ts";
import type { SessionClient } from "./session.ts";

/** Counts and traces a request, and answers it. */
const answer = async <Answer>(
  { request, consumer }: UpstreamCall<Answer>,
  read: () => Answer,
): Promise<Answer> => {
  consumer.countRequest();
  const { endpoint, traceEntry } = request;
  traceEntry?.add({ kind: "sent", method: endpoint.method, path: endpoint.path });
  // A response never arrives in the tick of its request.
  await new Promise(setImmediate);
  traceEntry?.add({ kind: "end", status: null, error: null, bytes: 0 });
  return read();
};

/**
 * Creates a client that sends nothing and answers each request with made-up records. The gateway plans an operation by running it with this
 * client: the requests are the minimum that the operation needs. The records contain every reference. A list has one item, or the items by
 * whose ids the request filters.
 */
export function createDryRunClient(open: SessionClient["open"], profile: Profile): SessionClient {
  const readRecord = <Answer>({ request }: UpstreamCall<Answer>) => {
    const { answer: reader } = request.endpoint;
    if (reader.form !== "json") return undefined as Answer;
    const task = reader.parseTask(bodyOf(request, profile));
    for (;;) {
      const { done, value } = task.next();
      if (done) return (value as Reading<Answer>).answer;
    }
  };

  return {
    open,
    enqueue: (read) => read.admit(),
    cancel: () => {},
    read: ({ call }) => answer(call, () => readRecord(call)),
    readChunk: async ({ call }, read) => {
      await answer(call, () => undefined);
      const log = { stream: Readable.from([]), bodyHeaders: {}, isHandedOver: false, keep: () => {} };
      return (await read({ ...headOf(200, []), ...log }, call.consumer)).chunk;
    },
    command: (call) => answer(call, () => readRecord(call)),
    upstreamTime: Date.now,
  };
}

/** The time of all made-up records. */
const MADE_UP_TIME = "2026-01-01T00:00:00Z";

/** The made-up body of a response: one record with the keys of all kinds, which is also a page and a folder. */
function bodyOf({ endpoint, path }: UpstreamRequest<unknown>, { filters, omittedInLists }: Profile) {
  const [filled = "", query] = path.split("?");
  const template = endpoint.path.split("/");
  const values = filled.split("/").map(decodeURIComponent);
  const at = Object.fromEntries(template.map((name, index) => [name, values[index] ?? ""]));
  const { "{owner}": owner = "owner", "{project}": project = "project" } = at;
  const kind = template.find((name) => name in INFIXES) ?? "";
  const infix = INFIXES[kind] ?? null;
  const run = (id: number, of: string | null) =>
    formatReference({ owner, project, id: `${id}` }, { infix: of });

  const record = (id: number): Readonly<Record<string, unknown>> => ({
    ...UNKNOWN,
    id,
    uuid: `${id}`,
    name: at["{project}"] === undefined ? `node-${id}` : project,
    user: owner,
    username: owner,
    token: "dry-run",
    project: `${owner}.${project}`,
    experiment_group: run(1, null),
    build_job: run(id, "builds"),
    original: run(id, infix),
    cloning_strategy: "copy",
    experiment: id,
    sequence: id,
    node_scheduled: `node-${id}`,
    status: "running",
    last_status: "running",
    created_at: MADE_UP_TIME,
    started_at: MADE_UP_TIME,
    finished_at: null,
    values: {},
    ...NODE_SUMMARY,
  });
  const omitted: readonly string[] =
    (omittedInLists as Readonly<Record<string, readonly string[]>>)[kind] ?? [];
  const itemOf = (id: number) =>
    Object.fromEntries(Object.entries(record(id)).filter(([key]) => !omitted.includes(key)));
  const items = idsIn(new URLSearchParams(query), filters).map((id) => ({
    ...itemOf(id),
    content_object: itemOf(id),
  }));
  const own = Number(at["{id}"] ?? at["{sequence}"] ?? 1) || 1;
  return {
    ...record(own),
    count: items.length,
    next: null,
    results: items,
    nodes: items,
    dirs: [],
    files: [],
  };
}

/** The ids by which a list is filtered; the id 1 if there is no such filter. */
function idsIn(query: URLSearchParams, { ids }: Profile["filters"]): readonly number[] {
  const filter = ids && query.get(ids.parameter);
  const [before = "", after = ""] = ids?.value.split("{ids}") ?? [];
  if (!ids || !filter?.startsWith(before) || !filter.endsWith(after)) return [1];
  const found = filter
    .slice(before.length, filter.length - after.length)
    .split(ids.separator)
    .map(Number);
  return found.every(Number.isSafeInteger) ? found : [1];
}

/** The keys that the record of a cluster has for each node. The other keys need a request for each node. */
const NODE_SUMMARY = { hostname: null, role: null, memory: null, cpu: null, n_gpus: null };

/** The known keys, all undefined. Metrics stay undefined, because made-up metric names would not match the names in the operation. */
const UNKNOWN = Object.fromEntries([...KNOWN_KEYS].map((key) => [key, undefined]));

/** The infix in the names of runs (`jobs` in `ada.mnist.jobs.3`), by the collection in the path. */
const INFIXES: Readonly<Record<string, string | null>> = Object.fromEntries(
  runKinds.map(({ records, reference }) => [records, reference.infix]),
);
