/** The settings on which some fixed limits depend. */
type Given = Readonly<Record<"UPSTREAM_TIMEOUT_MS" | "UPSTREAM_CONNECTIONS" | "MAX_SUBSCRIPTIONS", number>>;

export type FixedLimits = ReturnType<typeof fixedLimitsFor>;

/** Limits without a setting. Only tests replace them, to reach a limit with little work. */
export const fixedLimitsFor = ({ UPSTREAM_TIMEOUT_MS, UPSTREAM_CONNECTIONS, MAX_SUBSCRIPTIONS }: Given) => ({
  /** Maximum time in which a caller reads 64 kB. A reader slower than an old phone network would occupy memory that others need. */
  READ_TIMEOUT_MS: 10_000,
  /**
   * Upper bound for parsed documents and their plans, in bytes. It has room for some hundreds, more than the frontends of one service have.
   */
  DOCUMENT_CACHE_BYTES: 16_000_000,
  /** A service that is available accepts within a round trip. A lost packet is sent again after a second. */
  UPSTREAM_CONNECT_TIMEOUT_MS: 2_000,
  /** Connections to the service are replaced, so that DNS changes take effect. */
  UPSTREAM_CONNECTION_AGE_MS: 300_000,
  /** Maximum pause in a log or download. The load balancers of `deploy` wait longer. */
  UPSTREAM_IDLE_TIMEOUT_MS: 30_000,
  /** More retries of a GET would only make an outage worse. The circuit breaker opens instead. */
  UPSTREAM_RETRIES: 2,
  /** Maximum memory of cached responses of all callers: a sixth of the heap of a process in `deploy`. */
  CACHE_BYTES: 64_000_000,
  /** Concurrent upstream requests until their latency shows the capacity of the service: two tokens with a page of one run each. */
  UPSTREAM_INITIAL_CONNECTIONS: 16,
  /** Concurrent upstream requests of one operation: a table of 50 runs sends the requests of all rows in one round. */
  MAX_UPSTREAM_WIDTH: 64,
  /** Maximum size of a log window. Whole logs are downloads. */
  MAX_LOG_BYTES: 1_048_576,
  /**
   * Maximum rows that are read for one page with a filter that the upstream service does not support: four upstream requests of 500 rows.
   */
  MAX_SCANNED_ROWS: 2_000,
  /** The longest operation in `schema/operations` has 242 tokens. */
  MAX_TOKENS: 4_000,
  /** Maximum root fields of a mutation, each of which changes something. `login` may be selected once. */
  MAX_ROOT_FIELDS: 50,
  /** Maximum fields and list items of a result: 500 runs with 400 values each. */
  MAX_RESULT_FIELDS: 200_000,
  /** Maximum memory of upstream responses of one caller, in bytes. If a sixth of the heap is less, that is the limit. */
  MAX_UPSTREAM_BYTES: 128_000_000,
  /** Maximum mutations of unverified callers, such as sign-ins, which cannot be preempted. A whole class may sign in at the same time. */
  MAX_UNVERIFIED_MUTATIONS: 500,
  /** A download has its own connection until its caller has read it. */
  MAX_DOWNLOADS: 64,
  /** A quarter of all. */
  MAX_DOWNLOADS_PER_TOKEN: 16,
  /** Responses that wait for slow readers, and incomplete request bodies. They are outside of the heap. */
  MAX_WAITING_BYTES: 64_000_000,
  /** Maximum time until the headers of a response. The rest of the timeout is for the body. */
  UPSTREAM_HEADERS_TIMEOUT_MS: Math.ceil((UPSTREAM_TIMEOUT_MS * 2) / 3),
  /** Maximum requests that wait for a connection: a service that responds in 50 ms serves them in 2 s. */
  UPSTREAM_QUEUE: 40 * UPSTREAM_CONNECTIONS,
  /** At least ten callers share the subscriptions. */
  MAX_SUBSCRIPTIONS_PER_TOKEN: Math.ceil(MAX_SUBSCRIPTIONS / 10),
});
