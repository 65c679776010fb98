import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { SharedResponseOutcome } from "../observability/telemetry.ts";
import type {
  Replicas,
  SharedKind,
  SharedRead,
  SharedResponse,
  SharedTurn,
} from "../rest/client/replicas.ts";
import { pause, type RequestScope, untilEnd } from "../request-scope.ts";
import type { Connection } from "./connection.ts";
import { ASK, EPOCH, LAST, OFFER } from "./scripts.ts";
import { shareRate } from "./shared-rate.ts";
import { type TokenKeys, tokenKeys } from "./token-keys.ts";

interface ReplicaSettings {
  readonly redis: Connection;
  /** What has to be equal for processes to share anything: the service. */
  readonly installation: unknown;
  /** How old a response may be that answers an operation, in milliseconds; null: operations share none. */
  readonly operationMaxAgeMs: number | null;
  /** How old it may be while the service gives none. */
  readonly staleMs: number;
  /** The time of a clock that all processes share; null: that of Redis. */
  readonly now: (() => number) | null;
  readonly onOutcome: (kind: SharedKind, outcome: SharedResponseOutcome) => void;
}

/** How long the others wait for a process that asks, in milliseconds. It may have been killed. */
const TURN_MS = 1_000;

/** The pause before a process that waits looks again, in milliseconds: doubled each time. */
const FIRST_LOOK_MS = 10;
const MAX_LOOK_MS = 160;

/** How long the responses of polls are kept, in milliseconds: longer than the longest interval between two polls. */
const POLL_KEPT_MS = 20_000;

/** How long an epoch is kept, in milliseconds: longer than any response. */
const EPOCH_KEPT_MS = 7_200_000;

/** Longest body that is shared, in bytes. */
const MAX_SHARED_BYTES = 1_000_000;

/** A reply has a head and what encryption adds as well. */
export const MAX_REPLY_BYTES = MAX_SHARED_BYTES + 1_000;

/** A response, the turn of this process, or that another one asks; null when Redis tells nothing. */
type Seen = SharedResponse | SharedTurn | "waits" | null;

/** Tokens with a command that others could not be told of: they are told when Redis is back or takes it after all. */
const MAX_UNTOLD = 10_000;

/** When they are told again, in milliseconds. */
const RETRY_MS = 1_000;

// What is kept: the epoch, when it was asked for, since when it is the same, and the text that is sealed for this place.
const PLACE = "(\\S{1,64} (\\d{1,16}) (\\d{1,16})) ";
const HEAD = new RegExp(`^F(\\d{1,12}) ${PLACE}`);
const BEFORE = new RegExp(`^${PLACE}`);
const TURN = /^A(\S{1,64}) (\d{1,16})(?: |$)/;

const newEpoch = () => randomBytes(16).toString("base64url");

const nameIn = (keys: TokenKeys, { kind, path, variant }: SharedRead) =>
  keys.nameOf(`${kind} ${path} ${variant}`);

/** Shares responses and rates by Redis. Processes agree on nothing but the token, from which all names and keys are derived. */
export function shareByRedis(settings: ReplicaSettings): Replicas {
  const { redis, operationMaxAgeMs, staleMs, onOutcome } = settings;
  const keysOf = tokenKeys(settings.installation);
  const now = () => (settings.now ? settings.now().toFixed() : "");
  const untold = new LRUCache<string, true>({ max: MAX_UNTOLD });
  let retry: NodeJS.Timeout | undefined;

  const epochKey = (keys: TokenKeys, kind: SharedKind) =>
    redis.keyOf(`epoch:${keys.nameOf(`epoch ${kind}`)}`);

  /** Looks once. While it has waited, a response becomes no older for it. */
  const look = async (read: SharedRead, waitedMs: number): Promise<Seen> => {
    const { kind, token, maxAgeMs } = read;
    const keys = keysOf(token);
    const name = nameIn(keys, read);
    const value = redis.keyOf(`response:${name}`);
    const places = [epochKey(keys, kind), value, redis.keyOf(`turn:${name}`)];
    const reply = await redis.ask(
      [
        "EVAL",
        ASK,
        "3",
        ...places,
        newEpoch(),
        `${EPOCH_KEPT_MS}`,
        `${Math.max(0, Math.ceil(maxAgeMs + waitedMs))}`,
        `${maxAgeMs > 0 ? TURN_MS : 0}`,
        kind === "poll" ? "1" : "0",
        now(),
      ],
      () => onOutcome(kind, "failed"),
    );
    if (!Buffer.isBuffer(reply)) return null;
    const text = reply.toString("latin1", 0, 120);
    if (text === "W") {
      onOutcome(kind, "waits");
      return "waits";
    }
    const [found, age = "", head = "", began = "", since = ""] = HEAD.exec(text) ?? [];
    if (found !== undefined) {
      const body = keys.open(reply.subarray(found.length), `${value} ${head}`);
      onOutcome(kind, body ? "found" : "invalid");
      if (!body) redis.tell(["DEL", value]);
      return body && { body, ageMs: Number(age), unchangedMs: Number(began) - Number(since) };
    }
    const [turn, epoch = "", at = ""] = TURN.exec(text) ?? [];
    if (turn === undefined) return null;
    onOutcome(kind, "missing");
    const before = reply.subarray(turn.length);
    const [beforeHead = "", beforePlace = "", , beforeSince = ""] =
      BEFORE.exec(before.toString("latin1", 0, 100)) ?? [];
    const beforeBody = beforeHead && keys.open(before.subarray(beforeHead.length), `${value} ${beforePlace}`);
    return {
      offer: (body) => {
        const sameSince = beforeBody && beforeBody.equals(body) ? beforeSince : at;
        const place = `${epoch} ${at} ${sameSince}`;
        const sealed = Buffer.concat([Buffer.from(`${place} `), keys.seal(body, `${value} ${place}`)]);
        const keptMs = kind === "poll" ? POLL_KEPT_MS : Math.max(operationMaxAgeMs ?? 0, staleMs);
        if (body.length > MAX_SHARED_BYTES) redis.tell(["DEL", places[2] ?? ""]);
        else redis.tell(["EVAL", OFFER, "3", ...places, epoch, sealed, `${keptMs}`, at]);
        return Number(at) - Number(sameSince);
      },
      release: (isOver) => redis.tell(["DEL", ...places.slice(isOver ? 1 : 2)]),
    };
  };

  const tellLater = (keys: readonly string[]): void => {
    for (const key of keys) untold.set(key, true);
    clearTimeout(retry);
    retry = setTimeout(tellUntold, RETRY_MS).unref();
  };

  const tellUntold = (): void => {
    const keys = [...untold.keys()];
    untold.clear();
    if (keys.length > 0) void redis.ask(["DEL", ...keys], () => tellLater(keys));
  };
  redis.onReady(tellUntold);

  const tellCut = async (key: string): Promise<void> => {
    if (redis.isPaused()) {
      tellLater([key]);
      redis.tell(["DEL", key], true);
    } else await redis.ask(["DEL", key], () => tellLater([key]));
  };

  return {
    operationMaxAgeMs,
    staleMs,
    ask: async (scope: RequestScope, read) => {
      const began = performance.now();
      let waitedMs = 0;
      for (let lookMs = FIRST_LOOK_MS; waitedMs < TURN_MS; lookMs = Math.min(2 * lookMs, MAX_LOOK_MS)) {
        const seen = await untilEnd(scope, leftAtEnd(scope, look(read, waitedMs)));
        if (seen !== "waits") return seen;
        await new Promise<void>((resume) => pause(lookMs, scope, resume));
        if (scope.ended) break;
        waitedMs = performance.now() - began;
      }
      return null;
    },
    last: async (read) => {
      const { token, kind, maxAgeMs } = read;
      const keys = keysOf(token);
      const value = redis.keyOf(`response:${nameIn(keys, read)}`);
      const reply = await redis.ask(["EVAL", LAST, "2", epochKey(keys, kind), value, now()], () =>
        onOutcome(kind, "failed"),
      );
      if (!Buffer.isBuffer(reply)) return null;
      const [head, age = "", place = ""] = HEAD.exec(reply.toString("latin1", 0, 120)) ?? [];
      if (head === undefined || Number(age) > maxAgeMs) return null;
      const body = keys.open(reply.subarray(head.length), `${value} ${place}`);
      onOutcome(kind, body ? "found" : "invalid");
      return body && { body, ageMs: Number(age) };
    },
    epoch: async (token) => {
      const key = epochKey(keysOf(token), "operation");
      const reply = await redis.ask(["EVAL", EPOCH, "1", key, newEpoch(), `${EPOCH_KEPT_MS}`], () => {});
      return Buffer.isBuffer(reply) ? reply.toString("latin1") : null;
    },
    endSharing: async (token, kinds) => {
      const keys = keysOf(token);
      await Promise.all([
        operationMaxAgeMs !== null && tellCut(epochKey(keys, "operation")),
        kinds === "all" && tellCut(epochKey(keys, "poll")),
      ]);
    },
    rateOf: (token, limit) => shareRate(redis, limit, keysOf(token).nameOf("rate"), now),
  };
}

/** What was seen. A turn that comes after the end of the scope is left to others. */
async function leftAtEnd(scope: RequestScope, looking: Promise<Seen>): Promise<Seen> {
  const seen = await looking;
  if (scope.ended && seen !== null && typeof seen === "object" && "release" in seen) seen.release(false);
  return seen;
}
