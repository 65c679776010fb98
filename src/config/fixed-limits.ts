/** The settings from which some bounds follow. */
type Given = Readonly<Record<"UPSTREAM_TIMEOUT_MS" | "UPSTREAM_CONNECTIONS" | "MAX_SUBSCRIPTIONS", number>>;

export type FixedLimits = ReturnType<typeof fixedLimitsFor>;

/** Bounds without a setting. Only tests replace them, to reach one with little. */
export const fixedLimitsFor = ({ UPSTREAM_TIMEOUT_MS, UPSTREAM_CONNECTIONS, MAX_SUBSCRIPTIONS }: Given) => ({
  /** Longest time in which a caller reads 64 kB: a reader slower than an old phone network would take the memory of others. */
  READ_TIMEOUT_MS: 10_000,
  /** Parsed documents and their plans: some hundreds, more than the frontends of one service have. */
  DOCUMENT_CACHE_BYTES: 16_000_000,
  /** A service that is up accepts within a round trip; a lost packet is sent again after a second. */
  UPSTREAM_CONNECT_TIMEOUT_MS: 2_000,
  /** Connections to the service are replaced, so that a change of its address in the DNS is followed. */
  UPSTREAM_CONNECTION_AGE_MS: 300_000,
  /** Longest pause in a log or download. The balancers of `deploy` wait longer. */
  UPSTREAM_IDLE_TIMEOUT_MS: 30_000,
  /** More retries of a GET would only add to an outage: the circuit breaker opens. */
  UPSTREAM_RETRIES: 2,
  /** Kept responses of all callers: a sixth of the heap that `deploy` gives a process. */
  CACHE_BYTES: 64_000_000,
  /** Upstream requests at a time until their latency shows how many the service bears: two tokens with a page of a run each. */
  UPSTREAM_INITIAL_CONNECTIONS: 16,
  /** Upstream requests of one operation at a time: a table of 50 runs requests what each has in one round. */
  MAX_UPSTREAM_WIDTH: 64,
  /** Longest log window. Whole logs are downloads. */
  MAX_LOG_BYTES: 1_048_576,
  /** Rows that are read for one page and a filter that upstream does not support: four upstream requests of 500. */
  MAX_SCANNED_ROWS: 2_000,
  /** The longest operation in `schema/operations` has 242 tokens. */
  MAX_TOKENS: 4_000,
  /** Fields of a mutation at its root: each changes something. Of `login` one. */
  MAX_ROOT_FIELDS: 50,
  /** Fields and list items of a result: 500 runs with 400 values each. */
  MAX_RESULT_FIELDS: 200_000,
  /** Memory of upstream responses of one caller, in bytes, where the heap is larger than six times that: else a sixth of it. */
  MAX_UPSTREAM_BYTES: 128_000_000,
  /** Mutations of unverified callers, such as sign-ins, which cannot be preempted: a class begins at the same time. */
  MAX_UNVERIFIED_MUTATIONS: 500,
  /** A download has a connection of its own, as long as its caller reads. */
  MAX_DOWNLOADS: 64,
  /** A quarter of all. */
  MAX_DOWNLOADS_PER_TOKEN: 16,
  /** Responses that wait for slow readers, and request bodies that are not complete. They are outside of the heap. */
  MAX_WAITING_BYTES: 64_000_000,
  /** Until the headers of a response: the rest of its time is for the body. */
  UPSTREAM_HEADERS_TIMEOUT_MS: Math.ceil((UPSTREAM_TIMEOUT_MS * 2) / 3),
  /** Requests that wait for a connection: a service that answers in 50 ms serves them in 2 s. */
  UPSTREAM_QUEUE: 40 * UPSTREAM_CONNECTIONS,
  /** Ten callers at least share the subscriptions. */
  MAX_SUBSCRIPTIONS_PER_TOKEN: Math.ceil(MAX_SUBSCRIPTIONS / 10),
});
