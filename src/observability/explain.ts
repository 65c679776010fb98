import type { ResponsePath } from "../engine/field-extensions.ts";
import type { OperationTrace, TraceEntry, Served, WaitReason } from "../operation-trace.ts";

/** A path of the result, with the loads at this path. A tree node, because the full names of all paths would take too much memory. */
class PathCost {
  /** Null at the root. */
  readonly parent: PathCost | null;
  readonly at: string | number;
  /** Absent until needed, because a result may have a hundred thousand paths. */
  #below: Map<string | number, PathCost> | null = null;
  loads: Load[] | null = null;

  constructor(parent: PathCost | null, at: string | number) {
    this.parent = parent;
    this.at = at;
  }

  find(at: string | number): PathCost {
    const found = this.#below?.get(at) ?? new PathCost(this, at);
    (this.#below ??= new Map()).set(at, found);
    return found;
  }

  keys(): (string | number)[] {
    return this.parent ? [...this.parent.keys(), this.at] : [];
  }
}

/** One upstream response with its reads, or a command. */
class Load {
  readonly paths = new Set<PathCost>();
  /** Paths for which the response was prefetched. */
  readonly ahead = new Set<PathCost>();
  /** The reads that are answered by this list. */
  readonly members: Load[] = [];
  list: Load | null = null;
  /** The round in which the load's own request is sent; 0 until a path needs the load. */
  ownRound = 0;
  attempts: Shown[] = [];
  waitsSince = 0;
  waitedFor: WaitReason | null = null;
  sentAt = 0;
  served: Served = "request";
  isSettled = false;

  get round(): number {
    return this.list?.round ?? this.ownRound;
  }
}

/**
 * Creates the report of an upstream request. The outcome is filled in when the response arrives, possibly after the operation has
 * completed.
 */
const shownOf = (
  { round, waitedFor }: Pick<Load, "round" | "waitedFor">,
  attempt: number,
  { method, path }: { readonly method: string; readonly path: string },
  startMs: number,
  waitedMs: number,
) => ({
  method,
  template: path,
  /** Number of the attempt. A number above 1 means a retry. */
  attempt,
  status: null as number | null,
  error: null as string | null,
  /** Number of the round: one more than the number of requests that had to finish, one after another, before this request. */
  round,
  startMs: tenths(startMs),
  waitedMs: tenths(waitedMs),
  /** Why the request waited. Null below a millisecond, because every request waits until the requests of its tick have been sorted. */
  waitedFor: waitedMs < 1 ? null : waitedFor,
  durationMs: null as number | null,
  bytes: 0,
});

type Shown = ReturnType<typeof shownOf>;

function replay({ events, free }: OperationTrace, began: number) {
  const root = new PathCost(null, "");
  const loads = new Map<TraceEntry | null, Load>();
  const attempts: { readonly load: Load; readonly shown: Shown }[] = [];
  const scans = new Map<PathCost, { readonly compared: readonly string[]; readonly rows: number }>();
  /** The root field that sent the last command, and the number of rounds before that field. */
  let mutation: { readonly top: PathCost | null; readonly rounds: number } = { top: null, rounds: 0 };

  const loadOf = (traceEntry: TraceEntry | null): Load => {
    const load = loads.get(traceEntry) ?? new Load();
    loads.set(traceEntry, load);
    return load;
  };

  const costOf = ({ parent, at }: ResponsePath): PathCost => {
    if (!parent) return root;
    return costOf(parent).find(at);
  };

  /** The round of a new load at a path: one after the latest settled load at the path or at a path above it. */
  const roundOf = (path: PathCost): number => {
    let before = mutation.rounds;
    for (let above: PathCost | null = path; above; above = above.parent)
      for (const { isSettled, round } of above.loads ?? []) if (isSettled) before = Math.max(before, round);
    return before + 1;
  };

  for (const { traceEntry, at, what } of events) {
    if (what.kind === "scan") {
      const path = costOf(what.path);
      const { compared, rows } = scans.get(path) ?? { compared: [], rows: 0 };
      scans.set(path, { compared: [...new Set([...compared, ...what.compared])], rows: rows + what.rows });
      continue;
    }
    const load = loadOf(traceEntry);
    if (what.kind === "command") {
      let top = what.path && costOf(what.path);
      while (top?.parent?.parent) top = top.parent;
      // Root fields of a mutation run one after the other.
      if (top !== mutation.top) mutation = { top, rounds: roundsOf(attempts) };
    } else if (what.kind === "open") {
      if (load.isSettled) Object.assign(load, { ownRound: 0, list: null, served: "request" });
      load.isSettled = false;
    } else if (what.kind === "load") {
      const path = costOf(what.path);
      if (load.round === 0) load.ownRound = roundOf(path);
      if (!what.isAhead && !load.paths.has(path)) (path.loads ??= []).push(load);
      (what.isAhead ? load.ahead : load.paths).add(path);
    } else if (what.kind === "served") {
      const list = what.list && loadOf(what.list);
      // A record that is missing from the list is requested after the list.
      if (load.list && !list) load.ownRound = load.list.round + 1;
      load.served = what.by;
      load.list = list;
      list?.members.push(load);
      if (list?.attempts.length === 0) list.ownRound = Math.max(list.ownRound, load.ownRound);
    } else if (what.kind === "stale") load.served = "stale";
    else if (what.kind === "wait") load.waitsSince = at;
    else if (what.kind === "admitted") load.waitedFor = what.waitedFor;
    else if (what.kind === "sent") {
      // The load may have joined a request of another operation. If that operation has ended, the request is sent for this one.
      load.served = "request";
      const shown = shownOf(load, load.attempts.length + 1, what, at - began, at - load.waitsSince);
      load.sentAt = at;
      load.attempts.push(shown);
      attempts.push({ load, shown });
    } else if (what.kind === "end") {
      const { status, error, bytes } = what;
      const last = load.attempts.at(-1);
      if (last) Object.assign(last, { status, error, bytes, durationMs: tenths(at - load.sentAt) });
      // Reads settle with their response, which may take several attempts.
      load.isSettled ||= last?.method !== "GET";
    } else load.isSettled = true;
  }
  return { loads: [...loads.values()], attempts, free: linksIn(free, costOf), scans };
}

/** Counts the references that needed no request, and names the first ones. */
function linksIn(free: OperationTrace["free"], costOf: (path: ResponsePath) => PathCost) {
  const first = new Set<PathCost>();
  let links = 0;
  for (const [parent, keys] of free) {
    links += keys.size;
    for (const at of keys) {
      if (first.size === MAX_NAMED) break;
      first.add(costOf({ parent, at }));
    }
  }
  const { fields } = firstOf(first);
  return { links, fields, moreFields: links - fields.length };
}

const roundsOf = (attempts: readonly { readonly shown: Shown }[]): number =>
  Math.max(0, ...attempts.map(({ shown }) => shown.round));

/**
 * Returns a function that reports how a result was obtained: `extensions.explain` if the caller requested it, and `extensions.stale` if a
 * stale response was used. The function returns null if there is nothing to report. `began` is by `performance.now()`.
 */
export function explainer(operationTrace: OperationTrace, began: number) {
  /** Number of requests before the initial result. */
  let atOnce: number | null = null;
  const explainedNow = () => {
    const replayed = replay(operationTrace, began);
    return explained(replayed, began, (atOnce ??= replayed.attempts.length));
  };
  return () => {
    const stale = stalePaths(operationTrace);
    if (!operationTrace.isExplained && stale.length === 0) return null;
    return {
      ...(operationTrace.isExplained && { explain: explainedNow() }),
      ...(stale.length > 0 && { stale }),
    };
  };
}

/** The cost of an operation. Times are in milliseconds since it began. */
function explained(
  { loads, attempts, free, scans }: ReturnType<typeof replay>,
  began: number,
  atOnce: number,
) {
  const reads = { request: 0, batch: 0, joined: 0, cache: 0, stale: 0, shared: 0 };
  let withoutRungraph = 0;
  for (const { paths, served } of loads) {
    withoutRungraph += paths.size;
    if (paths.size === 0) continue;
    reads[served]++;
    // The first path causes the load. All others share it.
    reads.shared += paths.size - 1;
  }
  const requests = attempts.map(({ load, shown }, index) => ({
    ...shown,
    ...causesOf(load),
    // Whether the request began after the initial result of an operation with `@defer` or `@stream`.
    ...(index >= atOnce && { isDeferred: true }),
  }));
  return {
    requests,
    reads,
    // References that cost no request, because the selected fields are part of the reference itself.
    free,
    // The rows that the gateway itself compared, with the arguments by which the upstream service could not filter.
    ...(scans.size > 0 && {
      scans: [...scans].map(([path, scan]) => ({ ...firstOf(new Set([path])), ...scan })),
    }),
    totals: {
      requests: requests.length,
      rounds: roundsOf(attempts),
      bytes: requests.reduce((sum, { bytes }) => sum + bytes, 0),
      durationMs: tenths(performance.now() - began),
      // Number of requests that a client would send if it followed each reference itself.
      withoutRungraph,
    },
  };
}

/** The paths of all reads that a request answers, and the number of these reads. */
function causesOf(load: Load) {
  const loads = [load, ...load.members];
  const paths = new Set(loads.flatMap((each) => [...each.paths]));
  return {
    ...firstOf(paths.size > 0 ? paths : load.ahead),
    reads: Math.max(1, loads.filter((each) => each.paths.size > 0).length),
  };
}

const tenths = (ms: number): number => Math.round(ms * 10) / 10;

/** Maximum paths that are listed by name. */
const MAX_NAMED = 3;
/** Maximum length of a path's name, in characters, because it contains aliases, which callers choose. */
const MAX_PATH_NAME_LENGTH = 200;

/** The names of some paths, such as `group.experiments.nodes.0.buildJob`, and how many more there are. */
function firstOf(paths: ReadonlySet<PathCost>) {
  const fields = [...paths].slice(0, MAX_NAMED).map((path) => {
    const name = path.keys().join(".");
    return name.length > MAX_PATH_NAME_LENGTH ? `${name.slice(0, MAX_PATH_NAME_LENGTH)}…` : name;
  });
  return { fields, moreFields: paths.size - fields.length };
}

/**
 * Maximum number of paths with stale responses that are reported. `MAX_CHARACTERS`: maximum total length of these paths, in characters,
 * because aliases can be as long as the document.
 */
const MAX_STALE = 500;
const MAX_CHARACTERS = 100_000;

/** A path with a stale response, as it is reported. */
interface StalePath {
  readonly path: readonly (string | number)[];
  ageSeconds: number;
}

/**
 * The paths with a stale response, each with the age of the response. The trace is not replayed, because all operations are traced where
 * stale responses are allowed, and a trace may have a hundred thousand paths.
 */
function stalePaths({ events }: OperationTrace): readonly StalePath[] {
  const ages = new Map<TraceEntry | null, number>();
  const lists = new Map<TraceEntry | null, TraceEntry | null>();
  for (const { traceEntry, what } of events)
    if (what.kind === "stale") ages.set(traceEntry, what.ageMs);
    else if (what.kind === "open") lists.delete(traceEntry);
    else if (what.kind === "served") lists.set(traceEntry, what.list);
  if (ages.size === 0) return [];
  const byName = new Map<string, StalePath>();
  /** The reported paths, by the path above and by their last key. */
  const known = new Map<ResponsePath | null, Map<string | number, StalePath>>();
  let characters = 0;
  for (const { traceEntry, what } of events) {
    if (what.kind !== "load" || what.isAhead) continue;
    const ageMs = ages.get(traceEntry) ?? ages.get(lists.get(traceEntry) ?? null);
    if (ageMs === undefined) continue;
    // Several loads may serve one path, because several fields of an object load its record.
    const ageSeconds = Math.ceil(ageMs / 1000);
    const { parent, at } = what.path;
    const before = known.get(parent)?.get(at);
    if (before) before.ageSeconds = Math.max(before.ageSeconds, ageSeconds);
    else if (byName.size < MAX_STALE && (byName.size === 0 || characters <= MAX_CHARACTERS)) {
      const path = keysOf(what.path);
      const name = JSON.stringify(path);
      const reported = byName.get(name) ?? { path, ageSeconds };
      reported.ageSeconds = Math.max(reported.ageSeconds, ageSeconds);
      if (!byName.has(name)) characters += name.length;
      // The last path may be the one that is too long.
      if (byName.size > 0 && characters > MAX_CHARACTERS) continue;
      byName.set(name, reported);
      known.set(parent, (known.get(parent) ?? new Map<string | number, StalePath>()).set(at, reported));
    }
  }
  return [...byName.values()];
}

function keysOf(path: ResponsePath): (string | number)[] {
  const keys: (string | number)[] = [];
  for (let each = path; each.parent; each = each.parent) keys.unshift(each.at);
  return keys;
}
