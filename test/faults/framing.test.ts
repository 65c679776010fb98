import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { within } from "../support/machine.ts";
import { everyNth } from "../support/cases.ts";
import {
  CONNECTIONS,
  CUTS,
  encode,
  ENCODINGS,
  FRAMINGS,
  jsonWire,
  type RawService,
  type Shape,
  startRawService,
  type Wire,
  wireOf,
} from "./framing.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/gateway-process.ts";
import { globalId } from "../support/ids.ts";
import { begin, READERS, readFast, readSlowly, type Received, type Wish } from "../support/readers.ts";

/** By default, the rows contain every pair of values. With `FRAMINGS=all`, all 2,060 rows run, which takes about four minutes. */
const isWhole = process.env["FRAMINGS"] === "all";

const SIZES = { "1 kB": 1_000, "100 kB": 100_000, "5 MB": 5_000_000 } as const;
type Size = keyof typeof SIZES;

const WINDOW = 1_048_576;
const BEGINNING = 10_000;
const RECORD = 42;

/** A request, and the part of the service's body that must arrive. */
interface Operation {
  readonly wish: Wish;
  /** The body of the service's response, made from a random string. */
  readonly bodyOf: (text: string) => string;
  /** The part of the string that the caller receives. */
  readonly expected: (text: string) => string;
  /** Finds the expected part in the response; undefined for an error. */
  readonly found: (received: Received) => unknown;
}

const graphql = (query: string): Wish => ({ path: "/graphql", graphql: query });
const parsed = ({ body }: Received) =>
  JSON.parse(body.toString()) as {
    readonly data?: { readonly it: Record<string, unknown> | null } | null;
    readonly errors?: readonly { readonly extensions: { readonly code: string } }[];
  };
const asIs = (text: string) => text;
/** Lines, as a log has them. */
const linesOf = (text: string) => text.replaceAll(/.{1,127}/g, "$&\n");
const inLog = (received: Received) => (parsed(received).data?.it?.["logs"] as { text?: string } | null)?.text;

const OPERATIONS = {
  record: {
    wish: graphql(`{ it: experiment(id: "ada.mnist.${RECORD}") { description } }`),
    bodyOf: (text) => JSON.stringify({ id: RECORD, last_status: "running", description: text }),
    expected: asIs,
    found: (received) => parsed(received).data?.it?.["description"],
  },
  "end of a log": {
    wish: graphql(
      `{ it: experiment(id: "ada.mnist.${RECORD}") { logs(tailLines: 5000, maxBytes: ${WINDOW}) { text } } }`,
    ),
    bodyOf: linesOf,
    expected: (text) => linesOf(text).split("\n").slice(-5_001).join("\n").slice(-WINDOW),
    found: inLog,
  },
  "beginning of a log": {
    wish: graphql(`{ it: experiment(id: "ada.mnist.${RECORD}") { logs(maxBytes: ${BEGINNING}) { text } } }`),
    bodyOf: linesOf,
    expected: (text) => linesOf(text).slice(0, BEGINNING),
    found: inLog,
  },
  "log download": {
    wish: { path: `/downloads/${globalId(`Experiment:ada/mnist/${RECORD}`)}/logs` },
    bodyOf: linesOf,
    expected: linesOf,
    found: ({ body }) => body.toString(),
  },
  "outputs download": {
    wish: { path: `/downloads/${globalId(`Experiment:ada/mnist/${RECORD}`)}/outputs` },
    bodyOf: asIs,
    expected: asIs,
    found: ({ body }) => body.toString(),
  },
} as const satisfies Record<string, Operation>;
type OperationName = keyof typeof OPERATIONS;

/** Random hexadecimal digits, which no encoding makes less than half as long. Strings of the same size are equal. */
const texts = new Map<Size, string>();
function textOf(size: Size): string {
  const text = texts.get(size) ?? randomBytes(SIZES[size] / 2).toString("hex");
  texts.set(size, text);
  return text;
}

interface Body {
  readonly operation: OperationName;
  readonly size: Size;
  readonly encoding: Shape["encoding"];
}

const bodies = new Map<string, Promise<Buffer>>();
function encodedBody({ operation, size, encoding }: Body): Promise<Buffer> {
  const key = [operation, size, encoding].join();
  const body = bodies.get(key) ?? encode(Buffer.from(OPERATIONS[operation].bodyOf(textOf(size))), encoding);
  bodies.set(key, body);
  return body;
}

/** Options, each with its values. */
type Choices = Readonly<Record<string, readonly string[]>>;
type Row<C extends Choices> = { readonly [Name in keyof C]: C[Name][number] };

/** Every combination that makes sense. */
function productOf<const C extends Choices>(choices: C, makesSense: (row: Row<C>) => boolean): Row<C>[] {
  let rows: Record<string, string>[] = [{}];
  for (const [name, values] of Object.entries(choices))
    rows = rows.flatMap((row) => values.map((value) => ({ ...row, [name]: value })));
  // Each row now has a value of each option.
  return (rows as Row<C>[]).filter(makesSense);
}

const SHAPE = { framing: FRAMINGS, encoding: ENCODINGS, connection: CONNECTIONS } as const;
const hasAnEnd = ({ framing, connection }: Pick<Shape, "framing" | "connection">) =>
  framing !== "until close" || connection === "closed";

/** One caller at a time, so that the next request fails if a permit is not released. */
const ONE_OF_EACH = {
  UPSTREAM_CONNECTIONS: "1",
  UPSTREAM_CONNECTIONS_PER_TOKEN: "1",
  MAX_OPERATIONS: "1",
  MAX_OPERATIONS_PER_TOKEN: "1",
};

const SMALL = jsonWire({ id: RECORD, last_status: "running", description: "small" });
const SMALL_RECORD = OPERATIONS.record;

let service: RawService;
let running: GatewayProcess | null = null;
/** The current response of the service. */
let wire: Wire = SMALL;

beforeAll(async () => {
  service = await startRawService(({ send }) => send(wire));
});
afterAll(async () => {
  await running?.kill();
  await service.close();
});

/** The gateway: a new one if the last one ended or the last test failed. */
let gateway: GatewayProcess;
beforeEach(async () => {
  running ??= await startGatewayProcess(service.url, ONE_OF_EACH);
  gateway = running;
});
afterEach(async ({ task }) => {
  if (task.result?.state !== "fail") return;
  running = null;
  await gateway.kill();
});

/** Waits for `count` ticks of the gateway's event loop, if it is alive. */
async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) {
    await fetch(`${gateway.url}/healthz`).then(
      (response) => response.text(),
      () => "",
    );
  }
}

/** Resolves when the service has written everything, or cannot write more until the caller reads. */
async function isAtRest(): Promise<void> {
  for (let before = -1; before !== service.bytes();) {
    before = service.bytes();
    await ticks(5);
  }
}

async function expectAllIsWell(): Promise<void> {
  await gateway.expectAlive();
  // Both sides release a connection that closes after its response.
  await vi.waitUntil(() => service.busy() === 0, { timeout: within(5_000), interval: 2 });
  wire = SMALL;
  // Two successes for each failure keep the circuit closed.
  for (let time = 0; time < 2; time++) {
    await vi.waitUntil(
      async () => {
        const received = await readFast(gateway.url, SMALL_RECORD.wish);
        if (!received) await gateway.expectAlive();
        // The last request releases its permit when its response is written. The caller may see the response first.
        return received?.status === 200 && SMALL_RECORD.found(received) === "small";
      },
      { timeout: within(5_000), interval: 2 },
    );
  }
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
  expect(metrics).toMatch(/^rungraph_upstream_requests_running 0$/m);
  for (const reason of ["RATE_LIMIT", "CONCURRENCY", "CIRCUIT"])
    expect(metrics).toContain(`\nrungraph_upstream_requests_waiting{reason="${reason}"} 0\n`);
  expect(metrics).toMatch(/^rungraph_downloads_running 0$/m);
  await gateway.expectAlive();
}

const read = (wish: Wish, reader: "fast" | "slow"): Promise<Received | null> =>
  reader === "fast" ? readFast(gateway.url, wish) : readSlowly(gateway.url, wish, isAtRest);

test("the process survives long compressed responses on closing connections", async () => {
  const text = randomBytes(500_000).toString("hex");
  const body = await encode(Buffer.from(SMALL_RECORD.bodyOf(text)), "gzip");
  wire = wireOf({ framing: "content-length", encoding: "gzip", connection: "closed" }, body);
  for (let time = 0; time < 15; time++) {
    const received = await readFast(gateway.url, SMALL_RECORD.wish);
    await gateway.expectAlive();
    expect(received && SMALL_RECORD.found(received) === text).toBe(true);
  }
  await expectAllIsWell();
});

const WHOLE = productOf(
  {
    operation: Object.keys(OPERATIONS) as OperationName[],
    ...SHAPE,
    size: Object.keys(SIZES) as Size[],
    reader: READERS,
  },
  (row) =>
    hasAnEnd(row) &&
    // Half of a long log completes the response, so the caller cannot disconnect before that.
    !(row.operation === "beginning of a log" && row.reader === "leaving" && row.size !== "1 kB"),
);

/** The rows to run, with their titles. */
const chosen = <R extends Shape & Body>(all: readonly R[], nth: number) =>
  (isWhole ? all : everyNth(all, nth, 0, nth)).map((row): [string, R] => {
    const { operation, ...others } = row;
    const words = Object.entries(others).map(([name, value]) => `${name} ${value}`);
    return [`${operation}: ${words.join(", ")}`, row];
  });

/** Requests the current response of the service, and disconnects before it is complete. */
async function leave({ wish }: Operation): Promise<string> {
  const before = service.seen().length;
  const sent = begin(gateway.url, wish);
  await vi.waitUntil(() => service.seen().length > before, { timeout: within(5_000), interval: 2 });
  await isAtRest();
  const isTooLate = service.busy() === 0;
  sent.destroy();
  return isTooLate ? "answered before" : "left";
}

/** `whole`, or the difference between the caller's response and the service's. */
async function verdictOf(
  { expected, found }: Operation,
  { received, size }: { readonly received: Received | null; readonly size: Size },
): Promise<string> {
  await gateway.expectAlive();
  if (!received?.isWhole) return "breaks off";
  if (received.status !== 200) return `status ${received.status}`;
  return found(received) === expected(textOf(size)) ? "whole" : "has another content";
}

describe("a response arrives whole, or ends when its caller disconnects:", () => {
  test.each(chosen(WHOLE, 8))("%s", async (_, { operation, size, reader, ...shape }) => {
    const asked = OPERATIONS[operation];
    const body = await encodedBody({ operation, size, encoding: shape.encoding });
    wire = wireOf(shape, body, reader === "leaving" ? "stalled" : null);
    const verdict =
      reader === "leaving"
        ? await leave(asked)
        : await verdictOf(asked, { received: await read(asked.wish, reader), size });
    expect(verdict).toBe(reader === "leaving" ? "left" : "whole");
    await expectAllIsWell();
  });
});

const CUT = productOf(
  {
    operation: (Object.keys(OPERATIONS) as OperationName[]).filter((name) => name !== "beginning of a log"),
    cut: CUTS,
    ...SHAPE,
    size: Object.keys(SIZES) as Size[],
    reader: ["fast", "slow"],
  },
  (row) =>
    hasAnEnd(row) &&
    // A cut is not detectable without a promised length or an encoding.
    !(row.cut === "framing" && row.framing === "until close") &&
    !(row.cut === "encoding" && row.encoding === "none") &&
    // If a reset arrives together with the last bytes, libuv reports the end of the stream.
    !(row.cut === "reset" && row.framing === "until close" && row.encoding === "none"),
);

/** The outcome of a response that was cut: `breaks off`, or the code of the only error, in place of the data. */
function outcomeOf(received: Received | null): string {
  if (!received?.isWhole) return "breaks off";
  if (!received.body.toString("latin1", 0, 1).startsWith("{")) return "looks whole";
  const { data, errors = [] } = parsed(received);
  const left = data?.it?.["logs"] ?? data?.it?.["description"] ?? null;
  return left === null && errors.length === 1 ? `${errors[0]?.extensions.code}` : "looks whole";
}

const BROKEN_OFF = {
  download: /^(?:breaks off|UPSTREAM_UNAVAILABLE|UPSTREAM_BAD_RESPONSE)$/,
  graphql: /^(?:UPSTREAM_UNAVAILABLE|UPSTREAM_BAD_RESPONSE)$/,
};

describe("a truncated response is an error and never looks complete:", () => {
  test.each(chosen(CUT, 11))("%s", async (_, { operation, cut, size, reader, ...shape }) => {
    const body = await encodedBody({ operation, size, encoding: shape.encoding });
    wire = wireOf(shape, body, cut);
    const received = await read(OPERATIONS[operation].wish, reader);
    await gateway.expectAlive();
    expect(outcomeOf(received)).toMatch(BROKEN_OFF[operation.endsWith("download") ? "download" : "graphql"]);
    await expectAllIsWell();
  });
});
