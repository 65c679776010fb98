import { createCoordinates } from "../../src/engine/coordinates.ts";
import { getOperationAST, parse } from "graphql";
import { schema } from "../../src/graphql/schema.ts";
import pino from "pino";
import { CallerRegistry } from "../../src/callers/callers.ts";
import { ERROR_CODES } from "../../src/errors.ts";
import { createTelemetry } from "../../src/observability/telemetry.ts";
import { openRequestSpan } from "../../src/observability/tracing.ts";
import { RequestScope } from "../../src/callers/request-scope.ts";
import { PROFILE_NAMES } from "../../src/rest/api/profile.ts";
import { builtInProfile } from "../../src/rest/api/profiles.ts";
import { layout, pathOf } from "./layout.ts";
import { measured, scale, scaleOfChanges } from "./scaling.ts";
import { table } from "./table.ts";

const code = (text: unknown): string => `\`${String(text)}\``;

/** Reads the names, kinds, labels and descriptions of the metrics from the exposition format. */
async function metrics(): Promise<string> {
  const telemetry = createTelemetry({
    log: pino({ enabled: false }),
    load: () => ({
      circuit: "closed",
      running: 0,
      waiting: { RATE_LIMIT: 0, CONCURRENCY: 0, CIRCUIT: 0 },
      concurrencyLimit: 0,
      shed: 0,
      retries: 0,
      operations: 0,
      downloads: 0,
      subscriptions: 0,
      polls: 0,
      waitingBytes: 0,
    }),
    now: () => 0,
    deadlines: { operation: 1, upstream: 1 },
    coordinatesOf: createCoordinates(schema, "all"),
  });
  // A label appears in the output once it has a value.
  telemetry.upstreamRequest({ requestId: "", method: "GET", route: "", outcome: "2xx", ms: 0 });
  const identity = { caller: new CallerRegistry().of(null, ""), requestId: "", trace: null };
  const scope = new RequestScope(identity, Number.POSITIVE_INFINITY);
  const request = { scope, span: openRequestSpan("", {}, scope), headers: {} };
  const details = { type: "query" as const, name: null, hash: null, codes: [], failed: [] };
  const operation = getOperationAST(parse("{ viewer { username } }"));
  const selected = operation && { operation, fragments: new Map() };
  telemetry.operation(request, { ...details, ...(selected && { selected }) }, 200);
  telemetry.sharedRead("kept");
  telemetry.download(request, { what: "logs", code: "OK", bytes: 0, failed: [] });
  const text = await telemetry.registry.metrics();
  const rows = [...text.matchAll(/^# HELP (rungraph_\w+) (.*)\n# TYPE \w+ (\w+)\n(.*)$/gm)].map(
    ([, name = "", help = "", kind = "", sample = ""]) => {
      const labels = [...sample.matchAll(/(\w+)="/g)].flatMap(([, label]) =>
        label === "le" ? [] : code(label),
      );
      return [code(name), kind, labels.join(", "), help];
    },
  );
  return table(["Name", "Kind", "Labels", "Meaning"], rows);
}

/** The differences of the built-in profiles from the documented API. */
function profiles(): string {
  const built = PROFILE_NAMES.map(builtInProfile);
  const overrides = built.map(({ endpoints }) =>
    Object.fromEntries(
      Object.entries(endpoints).flatMap(([section, named]) =>
        Object.entries(named ?? {}).map(([name, path]) => [
          `${section}.${name}`,
          path === null ? "–" : code(path),
        ]),
      ),
    ),
  );
  const names = [...new Set(overrides.flatMap((each) => Object.keys(each)))];
  const optional: Record<string, string[]> = {};
  for (const name of names)
    if (name.startsWith("optional."))
      (optional[overrides.map((each) => ((each[name] ?? "–") === "–" ? "–" : "yes")).join()] ??= []).push(
        code(name.slice(9)),
      );
  const rows = [
    ...names
      .filter((name) => !name.startsWith("optional."))
      .map((name) => [code(name), ...overrides.map((each) => each[name] ?? "as documented")]),
    ...Object.entries(optional).map(([has, them]) => [`optional: ${them.join(", ")}`, ...has.split(",")]),
    ["paging", ...built.map(({ paging }) => code(paging.by))],
    ...(["query", "group", "ids"] as const).map((name) => [
      code(`filters.${name}`),
      ...built.map(({ filters }) => (filters[name] ? "yes" : "–")),
    ]),
    [
      code("filters.language"),
      ...built.map(({ filters: { language } }) => (language ? code(language) : "–")),
    ],
    ...(["orders", "metricOrders"] as const).map((name) => [
      code(name),
      ...built.map(({ [name]: orders }) => (Object.values(orders).some(Boolean) ? "yes" : "–")),
    ]),
    [
      code("rateLimits"),
      ...built.map(({ rateLimits }) => {
        const limits = rateLimits.map(
          ({ endpoints, requests, seconds }) =>
            `${endpoints ? `${endpoints.map(code).join(", ")}: ` : ""}${requests} in ${seconds} s`,
        );
        return limits.join("; ") || "–";
      }),
    ],
    ...(["update", "restart"] as const).map((name) => [
      code(`inputs.${name}`),
      ...built.map(({ inputs }) => acceptedInputs(inputs[name]) || "–"),
    ]),
  ];
  return table(["", ...PROFILE_NAMES.map(code)], rows);
}

/** The inputs that a server accepts. */
const acceptedInputs = (inputs: Readonly<Record<string, string | null>>): string =>
  Object.keys(inputs)
    .filter((name) => inputs[name] !== null)
    .map(code)
    .join(", ");

const errors = (): string =>
  table(
    ["Code", "HTTP", "Reads are retried", "Meaning"],
    Object.entries(ERROR_CODES).map(([name, { status, retry = "", meaning }]) => [
      code(name),
      `${status}`,
      retry,
      meaning,
    ]),
  );

const modules = (): string =>
  table(
    ["Module", "Contents", "Imports"],
    layout().map(({ name, contains, imports }) => [
      code(pathOf(name)),
      contains,
      imports.map(code).join(", "),
    ]),
  );

/** Generators of the parts of pages, by the name in `<!-- generated: name -->`. */
export const PARTS: Readonly<Record<string, () => string | Promise<string>>> = {
  errors,
  metrics,
  profiles,
  modules,
  scale,
  "scale-of-changes": scaleOfChanges,
  "measured-replicas": () => measured("replicas", "The balancer"),
};
