import { expect, test, vi } from "vitest";
import type { Outcome, Who } from "../support/door-world.ts";
import { startWorld } from "../support/door-world.ts";
import { everyNth } from "../support/cases.ts";
import { type DoorName, ENTER, type Use, type Visit } from "../support/doors.ts";
import { FIRST_POLL } from "../support/live-service.ts";
import { PATIENT } from "../support/patience.ts";

/**
 * The settings of each kind of place: eight in all, two for a caller, so two for an address and four for all strangers, except
 * of operations, of which these have what others leave.
 */
const KINDS = {
  operation: { MAX_OPERATIONS: "8", MAX_OPERATIONS_PER_TOKEN: "2" },
  stream: { MAX_SUBSCRIPTIONS: "8", MAX_SUBSCRIPTIONS_PER_TOKEN: "2" },
  socket: { MAX_SUBSCRIPTIONS: "8", MAX_SUBSCRIPTIONS_PER_TOKEN: "2" },
  download: { MAX_DOWNLOADS: "8", MAX_DOWNLOADS_PER_TOKEN: "2" },
  // Two of an address; all together may have four, since nobody who signs in is proven.
  "sign-in": { MAX_UNPROVEN_MUTATIONS: "4" },
} satisfies Record<string, Record<string, string>>;

const ADA: Who = { token: "ada" };
/** Who signs in by `connection_init` connects as one without a token. */
const ADA_BY_HEADER: Who = { ...ADA, byHeader: true };
const BOB: Who = { token: "bob" };
const invented = (number: number, more: Partial<Who> = {}): Who => ({ token: `invented${number}`, ...more });
const nobody = (more: Partial<Who> = {}): Who => ({ token: null, ...more });
const ELSEWHERE = { from: "127.0.0.2" };
const behind = (...addresses: readonly string[]) => ({ forwarded: addresses.join(", ") });

/** Two callers who take all that theirs may have, a third who shares it, and others who do not. */
interface Callers {
  readonly two: readonly Who[];
  readonly third: Who;
  readonly others: readonly Who[];
  readonly env?: Record<string, string>;
}

const STANDINGS = {
  proven: { two: [ADA, ADA], third: ADA, others: [BOB, invented(1), nobody()] },
  unproven: {
    two: [invented(1), invented(2)],
    third: invented(3),
    others: [ADA_BY_HEADER, invented(4, ELSEWHERE)],
  },
  anonymous: { two: [nobody(), nobody()], third: nobody(), others: [ADA_BY_HEADER, nobody(ELSEWHERE)] },
  "behind a proxy": {
    two: [invented(1, behind("10.0.0.1")), invented(2, behind("10.0.0.1"))],
    // What a client claims itself counts for nothing.
    third: invented(3, behind("10.0.0.2", "10.0.0.1")),
    others: [{ ...ADA_BY_HEADER, ...behind("10.0.0.1") }, invented(4, behind("10.0.0.1", "10.0.0.2"))],
    env: { TRUSTED_PROXIES: "127.0.0.1" },
  },
} satisfies Record<string, Callers>;

type Standing = keyof typeof STANDINGS;
const STANDING_NAMES: readonly Standing[] = ["proven", "unproven", "anonymous", "behind a proxy"];

/** What becomes of a third caller while two behave like this, and how the places of the two come back. */
type Manner = "busy" | "idle" | "slow" | "leaving" | "draining";
const MANNERS: readonly Manner[] = ["busy", "idle", "slow", "leaving", "draining"];

/** A cell that a door does not have. */
interface Never {
  readonly never: string;
}
const never = (why: string): Never => ({ never: why });

/**
 * - `holds`: the third is refused until the two end.
 * - `holds none`: the third is in beside them.
 * - `gives way`: the third is in, and one of the two is out.
 * - `READ_TIMEOUT_MS`: the third is refused until the two have not read for so long.
 * - A number refuses all who come; `opens` lets all in.
 */
type Rule = "holds" | "holds none" | "gives way" | "READ_TIMEOUT_MS" | "opens" | number | Never;

interface Row {
  readonly kind: keyof typeof KINDS;
  /** What refuses the third; 429 unless told. */
  readonly refused?: Partial<Record<Standing, Outcome>>;
  readonly rules: Readonly<Record<Manner, Rule>>;
  /** Cells that differ by who comes. */
  readonly except?: Partial<Record<`${Standing} ${Manner}` | Standing, Rule>>;
  /** All places of a caller are asked for over one connection, so the two have one token. */
  readonly isOneToken?: boolean;
  /** Nobody without a token comes as far as a place. */
  readonly isSignedIn?: boolean;
  /** Settings that the door needs. */
  readonly env?: Record<string, string>;
}

const NOTHING_TO_HOLD = never("without a token the service is asked nothing: there is nothing to wait for");
const NO_BODY = never("a GET has no body that could be waited for");
const REJECTED = never("the service rejects the token with the first poll, so that nobody is busy");
const PROVES = never("what the service sends for a token proves it");

const operation = {
  kind: "operation",
  rules: { busy: "holds", idle: "holds none", slow: "holds none", leaving: "holds", draining: "opens" },
  except: {
    "anonymous busy": NOTHING_TO_HOLD,
    "anonymous leaving": NOTHING_TO_HOLD,
    "unproven busy": "holds none",
    "unproven leaving": "holds none",
    "behind a proxy busy": "holds none",
    "behind a proxy leaving": "holds none",
  },
} as const satisfies Row;

/** The first piece is sent while the operation goes on. */
const pieces = {
  ...operation,
  rules: { ...operation.rules, slow: "READ_TIMEOUT_MS" },
  except: {
    ...operation.except,
    "anonymous slow": NOTHING_TO_HOLD,
    "unproven slow": PROVES,
    "behind a proxy slow": PROVES,
  },
} as const satisfies Row;

const stream = {
  kind: "stream",
  rules: { busy: "holds", idle: "holds", slow: "READ_TIMEOUT_MS", leaving: "holds", draining: 503 },
  except: {
    anonymous: never("without a token a subscription is refused with UNAUTHENTICATED"),
    "unproven slow": PROVES,
    "behind a proxy slow": PROVES,
    "unproven busy": REJECTED,
    "behind a proxy busy": REJECTED,
  },
} as const satisfies Row;

const download = {
  kind: "download",
  isSignedIn: true,
  rules: { busy: "holds", idle: "holds", slow: "READ_TIMEOUT_MS", leaving: "holds", draining: "opens" },
  except: {
    anonymous: never("without a token a download is refused with 401 before it takes a place"),
    "unproven slow": PROVES,
    "behind a proxy slow": PROVES,
  },
} as const satisfies Row;

const ROWS: Readonly<Record<DoorName, Row>> = {
  POST: operation,
  GET: { ...operation, rules: { ...operation.rules, idle: NO_BODY } },
  "/mcp": operation,
  "a query in pieces": pieces,
  "a query in pieces by events": pieces,
  "a query in pieces over a WebSocket": {
    ...operation,
    rules: {
      ...operation.rules,
      slow: never("it is its connection that is slow: see WebSocket"),
      draining: 503,
    },
  },
  "a query that accepts event streams": operation,
  "sign-in": {
    ...operation,
    kind: "sign-in",
    except: { proven: never("a proven caller signs in with one of its own operations") },
  },
  "event stream": stream,
  "event stream by GET": stream,
  "subscription over a WebSocket": {
    ...stream,
    rules: { ...stream.rules, slow: never("it is its connection that is slow: see WebSocket") },
    isOneToken: true,
  },
  WebSocket: {
    kind: "socket",
    // A socket is anonymous until its `connection_init`, which is refused with a close code.
    refused: { proven: 1013 },
    rules: { busy: "holds", idle: "gives way", slow: "READ_TIMEOUT_MS", leaving: "holds", draining: 503 },
    except: {
      "unproven slow": PROVES,
      "behind a proxy slow": PROVES,
      "anonymous busy": never("without a token there is nothing to subscribe to: the socket is idle"),
      "anonymous leaving": never("it is idle, and gives way"),
      "anonymous slow": never("there is nothing to read"),
    },
  },
  download,
  export: { ...download, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } },
};

const cells = (Object.keys(ROWS) as DoorName[]).flatMap((door) =>
  STANDING_NAMES.flatMap((standing) =>
    MANNERS.map((manner) => {
      const { rules, except = {} }: Row = ROWS[door];
      const rule = except[`${standing} ${manner}`] ?? except[standing] ?? rules[manner];
      return { door, standing, manner, rule };
    }),
  ),
);

const isCell = (rule: Rule): rule is Exclude<Rule, Never> => typeof rule !== "object";
const tested = cells.flatMap(({ rule, ...cell }) => (isCell(rule) ? [{ ...cell, rule }] : []));

/** Not the time of another timer. */
const READ_TIMEOUT_MS = 7_000;

async function startCell(door: DoorName, { env = {} }: Callers) {
  const { kind, env: needed = {} } = ROWS[door];
  const settings = { MCP: "read", READ_TIMEOUT_MS: `${READ_TIMEOUT_MS}`, ...KINDS[kind], ...needed, ...env };
  const world = await startWorld({ env: settings });
  await world.accept("ada", "bob");
  const enter = (who: Who, use: Use): Promise<Visit> => ENTER[door](world, who, use);
  return { world, enter };
}

test.each(everyNth(tested, 3, 0))(
  "$door, $standing, $manner: $rule",
  async ({ door, standing, manner, rule }) => {
    const callers: Callers = STANDINGS[standing];
    const { isOneToken = false, isSignedIn = false, refused = {} } = ROWS[door];
    const { world, enter } = await startCell(door, callers);
    /** Comes and goes. */
    const look = async (who: Who): Promise<Outcome> => {
      const visit = await enter(who, "active");
      if (visit.outcome === "in") visit.leave();
      return visit.outcome;
    };
    const { third, others } = callers;
    if (manner === "draining") {
      world.drain();
      const outcomes = new Set<Outcome>();
      for (const who of [third, ...others])
        if (who.token !== null || !isSignedIn) outcomes.add(await look(who));
      // oxlint-disable-next-line vitest/no-conditional-expect -- each cell expects what its row says
      return void expect([...outcomes]).toEqual([rule === "opens" ? "in" : rule]);
    }
    const two = isOneToken ? callers.two.map(() => callers.two[0] ?? third) : callers.two;
    const visits: Visit[] = [];
    for (const who of two)
      visits.push(await enter(who, manner === "idle" || manner === "slow" ? manner : "active"));
    expect(visits.map(({ outcome }) => outcome)).toEqual(["in", "in"]);
    if (rule === "READ_TIMEOUT_MS") {
      world.advance(FIRST_POLL);
      const late = () => {
        const latest = world.now() + READ_TIMEOUT_MS;
        return world.timers().filter((at) => at > latest - 1_000 && at <= latest);
      };
      await vi.waitUntil(() => late().length === visits.length, PATIENT);
    }
    const isFull = rule === "holds" || rule === "READ_TIMEOUT_MS";
    expect(await look(third)).toBe(isFull ? (refused[standing] ?? 429) : "in");
    for (const who of others) expect(await look(who)).toBe("in");
    const [first] = visits;
    // oxlint-disable-next-line vitest/no-conditional-expect -- as above
    if (rule === "gives way") expect(await first?.closed).toBe(1013);
    else if (rule === "READ_TIMEOUT_MS") {
      // Who does not read does not notice that it is disconnected.
      world.advance(READ_TIMEOUT_MS);
    } else for (const visit of visits) visit[manner === "busy" ? "finish" : "leave"]();
    await vi.waitFor(async () => expect(await look(third)).toBe("in"), PATIENT);
  },
);

test("each cell that no test has says why", () => {
  expect(cells).toHaveLength(14 * 4 * 5);
  const reasons = cells.flatMap(({ rule }) => (isCell(rule) ? [] : [rule.never]));
  expect(reasons.length + tested.length).toBe(cells.length);
  for (const why of reasons) expect(why).toMatch(/^.{20,}$/);
});
