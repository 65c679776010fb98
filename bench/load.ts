import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fireAtRate, fireAtWidth, goodPerSecond, percentile, recover, type Target } from "./fire.ts";
import { type Running, type Service, startGateway, startService, stopGateway } from "./processes.ts";

const OPERATIONS = new URL("../schema/operations/", import.meta.url);
const VARIABLES = JSON.parse(readFileSync(new URL("demo-variables.json", OPERATIONS), "utf8")) as Record<
  string,
  object
>;
const FILES = {
  "start page": "02-start-page.graphql",
  "experiment page": "03-experiment-page.graphql",
  "nested run graph": "04-nested-run-graph.graphql",
  "group with 24 runs": "16-group-graph.graphql",
};
const WIDTHS = [1, 32, 128];
const SECONDS = 3;

const round = (value: number) => (value < 10 ? value.toFixed(1) : String(Math.round(value)));
const megabytes = (bytes: number) => String(Math.round(bytes / 1_000_000));
const row = (...cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;
const seconds = (count: number) => sleep(count * 1_000);
const say = (text: string) => process.stderr.write(`${text}\n`);

const targetOf = ({ url }: Running, { token }: Service, file: string): Target => ({
  url,
  token,
  body: JSON.stringify({
    query: readFileSync(new URL(file, OPERATIONS), "utf8"),
    variables: VARIABLES[file] ?? {},
  }),
});

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

/** Five times what it can do, and how it is afterwards. */
async function measureOverload(gateway: Running, service: Service): Promise<string[]> {
  const target = targetOf(gateway, service, FILES["experiment page"]);
  const normal = await fireAtWidth(target, 32, seconds(SECONDS));
  const alone = await fireAtWidth(target, 1, seconds(1));
  const capacity = goodPerSecond(normal);
  const { within, offered } = await fireAtRate(target, capacity * 5, 6);
  const recoveredMs = await recover(target, percentile(alone, 0.99) * 2);
  const after = await fireAtWidth(target, 32, seconds(SECONDS));
  const goodput = goodPerSecond(within);
  return [
    row("capacity (experiment page, 32 connections)", `${round(capacity)} a second`),
    row("offered for 6 s", `${round(offered)} a second`),
    row(
      "goodput meanwhile",
      `${round(goodput)} a second, ${round((goodput / capacity) * 100)} % of capacity`,
    ),
    row("refused with an error meanwhile", `${round(within.counts.errors / within.seconds)} a second`),
    row("answers broken off meanwhile", within.counts.failed),
    row("until one request took less than twice its usual p99 again", `${round(recoveredMs)} ms`),
    row("capacity afterwards", `${round(goodPerSecond(after))} a second`),
  ];
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
  return [
    row("fastest", `${round(fastest)} ms`),
    row("median", `${round(median)} ms`),
    row("slowest", `${round(slowest)} ms`),
  ];
}

/** `SERVICE_OVERLOADED: 12`, for each code that operations had so far. */
async function codesOf({ url }: Running): Promise<string> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const counted = [...text.matchAll(/^rungraph_operations_total\{type="query",code="(\w+)"\} (\d+)$/gm)];
  return counted.map(([, code, count]) => `${code}: ${count}`).join(", ");
}

async function memoryOf({ url }: Running): Promise<{ resident: number; heap: number }> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  return { resident: read("process_resident_memory_bytes"), heap: read("nodejs_heap_size_used_bytes") };
}

/** Documents that are all different, sent one after the other by 16 callers. */
async function measureMemory(service: Service): Promise<string[]> {
  const gateway = await startGateway(service);
  const rows: string[] = [];
  const note = async (sent: number) => {
    const { resident, heap } = await memoryOf(gateway);
    rows.push(row(sent, megabytes(resident), megabytes(heap)));
    say(rows.at(-1) ?? "");
  };
  const ask = async (number: number) => {
    const query = `query Q${number} { gateway { v${number}: version capabilities } __typename }`;
    const response = await fetch(`${gateway.url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query }),
    });
    await response.text();
  };
  await note(0);
  for (let sent = 0; sent < 20_000; sent += 4_000) {
    await Promise.all(
      Array.from({ length: 16 }, async (_, caller) => {
        for (let number = sent + caller; number < sent + 4_000; number += 16) await ask(number);
      }),
    );
    await note(sent + 4_000);
  }
  await stopGateway(gateway);
  return rows;
}

const loadNow = () => loadavg()[0]?.toFixed(1);

const before = loadNow();
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
const after = loadNow();

const [processor] = cpus();
writeFileSync(
  new URL("RESULTS.md", import.meta.url),
  `# Measured by \`npm run bench\`

${new Date().toISOString().slice(0, 10)}, ${process.platform} ${release()}, Node ${process.version}, ${cpus().length} cores (${processor?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB.
Load generator, gateway (one process, at its default settings) and service share these cores. Load average: ${before} before,
${after} after. Other processes shared the machine where the first is not near 0: then the figures are too low, and differ from run to
run by a factor of two. The service answers from memory.

## Operations

${SECONDS} s each, after a warm-up; every connection asks again as soon as it has its answer. Times in ms.

| Operation | Connections | Requests a second | p50 | p99 | Not good |
|---|---|---|---|---|---|
${operations.join("\n")}

Codes of these operations: ${codes}. An operation of many exchanges is refused where more of them wait than UPSTREAM_QUEUE.

## Five times too much

| | |
|---|---|
${overload.join("\n")}

## SIGTERM under load

32 connections with the experiment page, 20 open log streams.

| | |
|---|---|
${drain.join("\n")}

## From the start to the first \`/readyz\` that is 200

| | |
|---|---|
${start.join("\n")}

## Memory over different documents

| Documents | Resident, MB | Heap in use, MB |
|---|---|---|
${memory.join("\n")}
`,
);
