import { fireAtWidth, goodPerSecond, percentile } from "./fire.ts";
import { measureMemory } from "./memory.ts";
import { measureOverload } from "./overload.ts";
import {
  metricsOf,
  type Running,
  type Service,
  startGateway,
  startService,
  stopGateway,
} from "./processes.ts";
import { conditions, writeResults } from "./results.ts";
import { FILES, round, row, say, seconds, targetOf } from "./sheet.ts";

const WIDTHS = [1, 32];
const SECONDS = 3;

/** Measures the throughput and latencies of each operation. */
async function measureOperations(gateway: Running, service: Service): Promise<string[]> {
  const rows: string[] = [];
  for (const [name, file] of Object.entries(FILES)) {
    const target = targetOf(gateway, service, file);
    await fireAtWidth(target, 8, seconds(1.5));
    for (const width of WIDTHS) {
      const fired = await fireAtWidth(target, width, seconds(SECONDS));
      const { errors, failed } = fired.counts;
      rows.push(
        row(
          name,
          width,
          round(goodPerSecond(fired)),
          round(percentile(fired, 0.5)),
          round(percentile(fired, 0.99)),
          errors + failed,
        ),
      );
      say(rows.at(-1) ?? "");
    }
  }
  return rows;
}

/** Returns whether a streamed log arrives complete. */
async function readLog({ url }: Running, { token }: Service): Promise<boolean> {
  try {
    const response = await fetch(`${url}/downloads/Sm9iOmFkYS9tbmlzdC8y/logs`, {
      headers: { authorization: `token ${token}` },
    });
    return (await response.text()).endsWith("line 40\n");
  } catch {
    return false;
  }
}

async function measureDrain(service: Service): Promise<string[]> {
  const gateway = await startGateway(service);
  const target = targetOf(gateway, service, FILES["experiment page"]);
  await fireAtWidth(target, 32, seconds(1));
  const logs = Array.from({ length: 20 }, () => readLog(gateway, service));
  const load = fireAtWidth(target, 32, gateway.ended);
  await seconds(1.5);
  const began = performance.now();
  gateway.child.kill("SIGTERM");
  const code = await gateway.ended;
  const took = performance.now() - began;
  const { counts } = await load;
  const whole = (await Promise.all(logs)).filter(Boolean).length;
  return [
    row("requests answered", counts.good),
    row("requests in flight that failed", counts.failed + counts.errors),
    row("complete log streams", `${whole} of 20`),
    row("exit code", code ?? "none"),
    row("time from SIGTERM to exit (a log stream takes 4 s)", `${round(took)} ms`),
  ];
}

/** Measures the time from start to readiness, in five runs. */
async function measureStart(service: Service): Promise<string[]> {
  const times: number[] = [];
  for (let run = 0; run < 5; run++) {
    const gateway = await startGateway(service);
    times.push(gateway.readyMs);
    await stopGateway(gateway);
  }
  const [fastest = 0, , median = 0, , slowest = 0] = times.toSorted((one, other) => one - other);
  return [row("fastest, median, slowest", `${[fastest, median, slowest].map(round).join(", ")} ms`)];
}

/** Lists the codes of all operations so far with their counts, such as `SERVICE_OVERLOADED: 12`. */
async function codesOf(gateway: Running): Promise<string> {
  const text = await metricsOf(gateway);
  const counted = [...text.matchAll(/^rungraph_operations_total\{type="query",code="(\w+)"\} (\d+)$/gm)];
  return counted.map(([, code, count]) => `${code}: ${count}`).join(", ");
}

const service = await startService();
const start = await measureStart(service);
say(start.join("\n"));
const gateway = await startGateway(service);
const operations = await measureOperations(gateway, service);
const codes = await codesOf(gateway);
const overload = await measureOverload(gateway, service);
say(overload.join("\n"));
await stopGateway(gateway);
const drain = await measureDrain(service);
say(drain.join("\n"));
const memory = await measureMemory(service);
service.stop();

writeResults(
  "load",
  `${conditions()} The gateway is one process on a core of its own, at its
default settings except the limits per token, because all load has one token. The service responds from memory.

### Operations

${SECONDS} s each, after a warm-up. Each connection sends its next request as soon as it has a response. Times in ms.

| Operation | Connections | Requests per second | p50 | p99 | Errors |
|---|---|---|---|---|---|
${operations.join("\n")}

Codes of these operations: ${codes}. An operation with many upstream requests is rejected if too many of them are queued.

| Five times the capacity | |
|---|---|
${overload.join("\n")}
| **SIGTERM with 32 connections and 20 open log streams** | |
${drain.join("\n")}
| **Time from start to the first 200 of \`/readyz\`** | |
${start.join("\n")}
| **Different documents** | |
${memory.join("\n")}

A request without a response waits to be accepted until its caller disconnects, and causes no upstream request.
The service and the load share the other cores. On a machine with two cores, the load takes CPU time from the service.`,
);
