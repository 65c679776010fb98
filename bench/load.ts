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

/** Requests a second and times, operation by operation. */
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

/** Whether a log that is streamed comes to its end. */
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
    row("log streams that came to their end", `${whole} of 20`),
    row("exit code", code ?? "none"),
    row("from SIGTERM to the exit (the streams take 4 s in all)", `${round(took)} ms`),
  ];
}

/** Start to ready, a few times. */
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

/** `SERVICE_OVERLOADED: 12`, for each code that operations had so far. */
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
  `${conditions()} The gateway is one process, at its default
settings but for those that share out between tokens, since all load comes with one. It has a core of its own. The service answers from memory.

### Operations

${SECONDS} s each, after a warm-up; every connection asks again as soon as it has its answer. Times in ms.

| Operation | Connections | Requests a second | p50 | p99 | Not good |
|---|---|---|---|---|---|
${operations.join("\n")}

Codes of these operations: ${codes}. An operation of many exchanges is refused where too many of them wait.

| Five times too many callers | |
|---|---|
${overload.join("\n")}
| **SIGTERM with 32 connections and 20 open log streams** | |
${drain.join("\n")}
| **Start to the first \`/readyz\` that is 200** | |
${start.join("\n")}
| **Different documents** | |
${memory.join("\n")}

What is not answered waits to be accepted, until its caller gives up; then it costs the service nothing.
Gateway, service and load share the cores: on a machine with two, the load takes the time that would answer it.`,
);
