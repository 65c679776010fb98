import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { type Outcome, startFixture, type Who } from "../support/admission-fixture.ts";
import { everyNth, tableIn } from "../support/cases.ts";
import { ENTER, type EntryName, type Use, type Visit } from "../support/admission.ts";
import { RELEASE_04 } from "../support/gateway.ts";
import { FIRST_POLL } from "../support/live-service.ts";
import { LONG_TIMEOUT, withoutPings } from "../support/long-timeout.ts";

/**
 * Settings for each limit: eight permits in total, two for each caller. An address therefore has two permits, and all unverified callers
 * together have four. For operations, unverified callers may use all permits that other callers do not need.
 */
const LIMITS = {
  operation: { MAX_OPERATIONS: "8", MAX_OPERATIONS_PER_TOKEN: "2" },
  stream: { MAX_SUBSCRIPTIONS: "8", MAX_SUBSCRIPTIONS_PER_TOKEN: "2" },
  socket: { MAX_SUBSCRIPTIONS: "8", MAX_SUBSCRIPTIONS_PER_TOKEN: "2" },
  download: { MAX_DOWNLOADS: "8", MAX_DOWNLOADS_PER_TOKEN: "2" },
  // An address has two permits. All callers together have four, because a caller is not verified while it signs in.
  "sign-in": { MAX_UNVERIFIED_MUTATIONS: "4" },
} satisfies Record<string, Record<string, string>>;
type LimitName = keyof typeof LIMITS;

const ADA: Who = { token: "ada" };
/** Callers with the token in a header. A connection that signs in by `connection_init` counts as one without a token. */
const ADA_BY_HEADER: Who = { ...ADA, byHeader: true };
const BOB: Who = { token: "bob" };
const invented = (number: number, more: Partial<Who> = {}): Who => ({ token: `invented${number}`, ...more });
const nobody = (more: Partial<Who> = {}): Who => ({ token: null, ...more });
const ELSEWHERE = { from: "127.0.0.2" };
const behind = (...addresses: readonly string[]) => ({ forwarded: addresses.join(", ") });

/** Two callers that use up their shared limit, a third one that shares it, and others that do not. */
interface Callers {
  readonly two: readonly Who[];
  readonly third: Who;
  readonly others: readonly Who[];
  readonly env?: Record<string, string>;
}

const VERIFICATIONS = {
  verified: { two: [ADA, ADA], third: ADA, others: [BOB, invented(1), nobody()] },
  unverified: {
    two: [invented(1), invented(2)],
    third: invented(3),
    others: [ADA_BY_HEADER, invented(4, ELSEWHERE)],
  },
  anonymous: { two: [nobody(), nobody()], third: nobody(), others: [ADA_BY_HEADER, nobody(ELSEWHERE)] },
  "behind a proxy": {
    two: [invented(1, behind("10.0.0.1")), invented(2, behind("10.0.0.1"))],
    // Addresses that a client sends itself have no effect.
    third: invented(3, behind("10.0.0.2", "10.0.0.1")),
    others: [{ ...ADA_BY_HEADER, ...behind("10.0.0.1") }, invented(4, behind("10.0.0.1", "10.0.0.2"))],
    env: { TRUSTED_PROXIES: "127.0.0.1" },
  },
} satisfies Record<string, Callers>;

type Verification = keyof typeof VERIFICATIONS;

const BEHAVIORS = ["busy", "idle", "slow", "leaving", "draining"] as const;

const page = readFileSync(new URL("admission.md", import.meta.url), "utf8");
const [, ...lines] = tableIn(page);

/** The expected outcome for a third caller at an entry point, from the table. */
const cells = lines.flatMap(([entry, limit, verifications = "", ...rules]) =>
  verifications.split(", ").flatMap((verification) =>
    BEHAVIORS.map((behavior, column) => {
      // Safe: the test below compares them.
      const names = { entry, limit, verification } as {
        entry: EntryName;
        limit: LimitName;
        verification: Verification;
      };
      return { ...names, behavior, rule: rules[column] ?? "" };
    }),
  ),
);

/** A cell with a letter refers to the reason why there is no test. */
const isReason = (rule: string): boolean => rule.length === 1;
const tested = cells.filter(({ rule }) => !isReason(rule));

/** A duration that no other timer has, in milliseconds. */
const READ_TIMEOUT_MS = 7_000;

test.each(everyNth(tested, 5, 0))(
  "$entry, $verification, $behavior: $rule",
  async ({ entry, limit, verification, behavior, rule }) => {
    const callers: Callers = VERIFICATIONS[verification];
    const fixture = await startFixture({
      env: {
        MCP: "read",
        READ_TIMEOUT_MS: `${READ_TIMEOUT_MS}`,
        ...LIMITS[limit],
        ...(entry === "export" && RELEASE_04),
        ...callers.env,
      },
    });
    await fixture.accept("ada", "bob");
    const enter = (who: Who, use: Use): Promise<Visit> => ENTER[entry](fixture, who, use);
    /** Acquires a permit and releases it immediately. */
    const look = async (who: Who): Promise<Outcome> => {
      const visit = await enter(who, "active");
      if (visit.outcome === "in") visit.leave();
      return visit.outcome;
    };
    const { third, others } = callers;
    if (behavior === "draining") {
      fixture.drain();
      const outcomes = new Set<Outcome>();
      // Callers without a token are rejected before they acquire a permit for a download.
      for (const who of [third, ...others])
        if (who.token !== null || limit !== "download") outcomes.add(await look(who));
      // oxlint-disable-next-line vitest/no-conditional-expect -- each cell expects what its row says
      return void expect([...outcomes]).toEqual([rule === "open" ? "in" : Number(rule)]);
    }
    if (rule === "READ_TIMEOUT_MS") withoutPings();
    // On one connection, both subscriptions belong to the same token.
    const isOne = entry === "subscription over a WebSocket";
    const visits: Visit[] = [];
    for (const who of callers.two)
      visits.push(
        await enter(
          isOne ? (callers.two[0] ?? who) : who,
          behavior === "idle" || behavior === "slow" ? behavior : "active",
        ),
      );
    expect(visits.map(({ outcome }) => outcome)).toEqual(["in", "in"]);
    if (rule === "READ_TIMEOUT_MS") {
      fixture.advance(FIRST_POLL);
      const late = () => {
        const latest = fixture.now() + READ_TIMEOUT_MS;
        return fixture.timers().filter((at) => at > latest - 1_000 && at <= latest);
      };
      await vi.waitUntil(() => late().length === visits.length, LONG_TIMEOUT);
    }
    const isFull = rule === "rejected" || rule === "READ_TIMEOUT_MS";
    // A socket is anonymous until its `connection_init`, which is rejected with a close code.
    const refused = limit === "socket" && verification === "verified" ? 1013 : 429;
    expect(await look(third)).toBe(isFull ? refused : "in");
    for (const who of others) expect(await look(who)).toBe("in");
    const [first] = visits;
    // oxlint-disable-next-line vitest/no-conditional-expect -- as above
    if (rule === "preempts") expect(await first?.closed).toBe(1013);
    else if (rule === "READ_TIMEOUT_MS") {
      // A caller that does not read does not detect its disconnection.
      fixture.advance(READ_TIMEOUT_MS);
    } else for (const visit of visits) visit[behavior === "busy" ? "finish" : "leave"]();
    await vi.waitFor(async () => expect(await look(third)).toBe("in"), LONG_TIMEOUT);
  },
);

test("admission.md covers every entry point, and explains each untested cell", () => {
  expect(new Set(cells.map(({ entry }) => entry))).toEqual(new Set(Object.keys(ENTER)));
  expect(cells).toHaveLength(14 * Object.keys(VERIFICATIONS).length * BEHAVIORS.length);
  for (const { rule } of cells.filter((cell) => isReason(cell.rule)))
    expect(page).toMatch(new RegExp(`^- ${rule}: .{20,}$`, "m"));
});
