// The sample, and instrumentations of `node:http` and undici as operators may load them: a span around each request.
// oxlint-disable-next-line import/no-unassigned-import -- it registers the SDK
import "../../docs/tracing.mjs";
import { subscribe } from "node:diagnostics_channel";
import { Server } from "node:http";
import { context, propagation, SpanKind, trace } from "@opentelemetry/api";

const tracer = trace.getTracer("instrumentation");

const { emit } = Server.prototype;
Server.prototype.emit = function (event, ...given) {
  const act = () => emit.call(this, event, ...given);
  if (event !== "request") return act();
  const [request, response] = given;
  const parent = propagation.extract(context.active(), request.headers);
  const span = tracer.startSpan(request.method, { kind: SpanKind.SERVER }, parent);
  response.once("close", () => span.end());
  const own = trace.setSpan(parent, span);
  // The body is sent later.
  context.bind(own, request);
  return context.with(own, act);
};

subscribe("undici:request:create", ({ request }) => {
  const active = context.active();
  const span = tracer.startSpan(request.method, { kind: SpanKind.CLIENT }, active);
  const headers = {};
  propagation.inject(trace.setSpan(active, span), headers);
  for (const [name, value] of Object.entries(headers)) request.addHeader(name, value);
  span.end();
});
