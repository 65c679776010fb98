import Fastify from "fastify";
import pino from "pino";
import { collectDefaultMetrics, Histogram, register } from "prom-client";
import { Agent, interceptors } from "undici";
import { cached, type Get, getBy } from "./service.ts";

/*
 * Features of production servers that Rungraph always has: a log line and metrics for each request, metrics of upstream requests, upstream
 * timeouts and retries. The servers limit the depth of operations themselves, to MAX_DEPTH.
 */

export const MAX_DEPTH = 12;

const log = pino({ level: "info" }, pino.destination({ dest: 1, sync: false, minLength: 4_096 }));
const requests = new Histogram({
  name: "request_duration_seconds",
  help: "Duration of requests.",
  labelNames: ["method", "status"],
});
const upstreamRequests = new Histogram({
  name: "upstream_request_duration_seconds",
  help: "Duration of upstream requests.",
  labelNames: ["outcome"],
});
collectDefaultMetrics();

const pools = new Agent({
  connections: 64,
  connect: { timeout: 2_000 },
  headersTimeout: 10_000,
  bodyTimeout: 15_000,
});
export const connections = cached(pools.compose(interceptors.retry({ maxRetries: 2, methods: ["GET"] })));

/** Counts and times an upstream request. */
export async function observe<Response>(request: () => Promise<Response>): Promise<Response> {
  const stop = upstreamRequests.startTimer();
  try {
    const response = await request();
    stop({ outcome: "ok" });
    return response;
  } catch (error) {
    stop({ outcome: "failed" });
    throw error;
  }
}

const getByConnections = getBy(connections);

export const get: Get = (path, authorization) => observe(() => getByConnections(path, authorization));

export const app = Fastify({ logger: false, requestTimeout: 30_000 });
app.addHook("onResponse", async ({ id, method, url }, { statusCode, elapsedTime }) => {
  requests.observe({ method, status: statusCode }, elapsedTime / 1_000);
  log.info({ requestId: id, method, url, status: statusCode, ms: elapsedTime }, "request");
});
app.get("/metrics", async (_, reply) => reply.type(register.contentType).send(await register.metrics()));
