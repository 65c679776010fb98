import { randomBytes } from "node:crypto";
import { onTestFinished, vi } from "vitest";
import { startFake } from "./fake.ts";
import { startGatewayProcess } from "./gateway-process.ts";
import { PATIENT } from "./patience.ts";

/** A span as a collector is sent it. */
export interface Span {
  readonly name: string;
  readonly kind: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A span as OTLP/HTTP sends it as JSON, as far as it is read here. */
interface Sent {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly status: { readonly code: number };
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}

/** The spans of an export. */
const spansIn = (body: string): readonly Sent[] =>
  // Safe: an exporter of OTLP sends nothing else.
  (
    JSON.parse(body) as {
      resourceSpans: readonly { scopeSpans: readonly { spans: readonly Sent[] }[] }[];
    }
  ).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));

/** Kinds by their numbers in OTLP. */
const KINDS = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
const ERROR = 2;

/** A collector of traces over real HTTP. */
async function startCollector() {
  const fake = await startFake(() => ({ json: {} }));
  const spansOf = (traceId: string): Span[] =>
    fake
      .seen()
      .flatMap(({ body }) => spansIn(body))
      .filter((span) => span.traceId === traceId)
      .map(({ name, kind, spanId, parentSpanId, status, attributes }) => ({
        name,
        kind: KINDS[kind] ?? `${kind}`,
        spanId,
        parentSpanId: parentSpanId ?? null,
        isError: status.code === ERROR,
        attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
      }));
  return {
    url: fake.url,
    /** The spans of a trace below `root`, once it is whole: no span's parent is missing. */
    trace: async (traceId: string, root: string): Promise<Span[]> => {
      await vi.waitUntil(() => {
        const spans = spansOf(traceId);
        const known = new Set([root, ...spans.map(({ spanId }) => spanId)]);
        const isWhole = spans.every(({ parentSpanId }) => parentSpanId !== null && known.has(parentSpanId));
        return isWhole && spans.some(({ parentSpanId }) => parentSpanId === root);
      }, PATIENT);
      return spansOf(traceId);
    },
    /** Everything that was sent. */
    text: () => JSON.stringify(fake.seen()),
  };
}

/** A span of the caller's, with a trace of its own for each request. */
const CALLER = "00f067aa0ba902b7";

/** The gateway as a process that loads this file of OpenTelemetry first, and a collector that it sends to. */
export async function startTraced(upstream: { readonly url: string }, file: string) {
  const collector = await startCollector();
  const gateway = await startGatewayProcess(upstream.url, {
    NODE_OPTIONS: `--import ./${file}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: "1",
  });
  onTestFinished(() => gateway.kill());
  const traced = async (path: string, options: RequestInit = {}) => {
    const traceId = randomBytes(16).toString("hex");
    const response = await fetch(gateway.url + path, {
      ...options,
      headers: {
        authorization: "token canary-token",
        "content-type": "application/json",
        traceparent: `00-${traceId}-${CALLER}-01`,
      },
    });
    await response.text();
    return { traceId, caller: CALLER, spans: await collector.trace(traceId, CALLER) };
  };
  return {
    ask: (query: string) => traced("/graphql", { method: "POST", body: JSON.stringify({ query }) }),
    get: (path: string) => traced(path),
    exported: collector.text,
  };
}
