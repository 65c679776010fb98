export type FixedLimits = ReturnType<typeof fixedLimitsFor>;

/** Limits without a setting. Only tests replace them, to reach a limit with little work. */
export const fixedLimitsFor = (
  settings: Readonly<
    Record<"UPSTREAM_TIMEOUT_MS" | "UPSTREAM_CONNECTIONS" | "MAX_OPERATIONS" | "MAX_SUBSCRIPTIONS", number>
  >,
) => ({
  /**
   * Maximum time in which a caller must read 64 kB. A reader that is slower than an old phone network would occupy memory that others need.
   */
  READ_TIMEOUT_MS: 10_000,
  /**
   * Upper bound for the memory of parsed documents and their plans, in bytes. A few hundred documents fit, which is more than the frontends
   * of one service have.
   */
  DOCUMENT_CACHE_BYTES: 16_000_000,
  /** Maximum time to connect to the service. Connecting takes one round trip, and a second more if a packet is lost. */
  UPSTREAM_CONNECT_TIMEOUT_MS: 2_000,
  /** Connections to the service are replaced at this age, so that DNS changes take effect. */
  UPSTREAM_CONNECTION_AGE_MS: 300_000,
  /** Maximum pause in a log or download. The load balancers of `deploy` wait longer. */
  UPSTREAM_IDLE_TIMEOUT_MS: 30_000,
  /** Maximum retries of a GET. In an outage, more retries would only add load, and the circuit breaker opens anyway. */
  UPSTREAM_RETRIES: 2,
  /** Maximum memory of cached responses for all callers, in bytes: a sixth of the heap that `deploy` configures. */
  CACHE_BYTES: 64_000_000,
  /**
   * Maximum concurrent upstream requests until their latency shows the capacity of the service. Enough for two tokens that each load a page
   * of one run.
   */
  UPSTREAM_INITIAL_CONNECTIONS: 16,
  /** Maximum concurrent upstream requests of one operation. Enough for a table of 50 runs to send the requests of all rows at once. */
  MAX_UPSTREAM_WIDTH: 64,
  /** Maximum size of a log window, in bytes. Whole logs are downloads. */
  MAX_LOG_BYTES: 1_048_576,
  /**
   * Maximum rows that are read for one page if the upstream service does not support the page's filter: four upstream requests of 500 rows.
   */
  MAX_SCANNED_ROWS: 2_000,
  /** Maximum tokens of a document. The longest operation in `schema/operations` has 242. */
  MAX_TOKENS: 4_000,
  /** Maximum root fields of a mutation, because each of them changes something. `login` may be selected only once. */
  MAX_ROOT_FIELDS: 50,
  /** Maximum fields and list items of a result: 500 runs with 400 values each. */
  MAX_RESULT_FIELDS: 200_000,
  /** Maximum memory of upstream responses for one caller, in bytes; a sixth of the heap if that is less. */
  MAX_UPSTREAM_BYTES: 128_000_000,
  /**
   * Maximum concurrent mutations of unverified callers. Mutations cannot be preempted. They include sign-ins, and a whole class may sign in
   * at once.
   */
  MAX_UNVERIFIED_MUTATIONS: 500,
  /** Maximum concurrent downloads. A download occupies its own upstream connection until its caller has read it. */
  MAX_DOWNLOADS: 64,
  /** Maximum concurrent downloads of one token: a quarter of all. */
  MAX_DOWNLOADS_PER_TOKEN: 16,
  /** Maximum bytes of responses that wait for slow readers and of incomplete request bodies. These bytes are outside the heap. */
  MAX_WAITING_BYTES: 64_000_000,
  /** Maximum time until the headers of a response arrive. The rest of the timeout is left for the body. */
  UPSTREAM_HEADERS_TIMEOUT_MS: Math.ceil((settings.UPSTREAM_TIMEOUT_MS * 2) / 3),
  /** Maximum number of upstream requests that wait. A service that responds in 50 ms serves this many in 2 s. */
  UPSTREAM_QUEUE: 40 * settings.UPSTREAM_CONNECTIONS,
  /**
   * Maximum connections, except WebSockets. Each operation and each subscription has one, and 2,000 more may be idle or send the head of a
   * request, which takes up to 30 kB.
   */
  MAX_CONNECTIONS: settings.MAX_OPERATIONS + settings.MAX_SUBSCRIPTIONS + 2_000,
  /** Maximum subscriptions of one token: a tenth of all, so at least ten callers share them. */
  MAX_SUBSCRIPTIONS_PER_TOKEN: Math.ceil(settings.MAX_SUBSCRIPTIONS / 10),
});
