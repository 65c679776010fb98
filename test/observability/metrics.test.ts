import { describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { type Gateway, startBefore, startGateway } from "../support/gateway.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { sendTo } from "../support/raw-requests.ts";
import { html } from "../support/replies.ts";
import { subscribe } from "../support/subscriber.ts";
import SAMPLES from "./samples.json" with { type: "json" };

const VIEWER = "{ viewer { username } }";

/** The samples whose lines begin with this string. */
async function linesOf(url: string, start: string): Promise<string[]> {
  const { text } = await sendTo(`${url}/metrics`, { method: "GET" });
  return text.split("\n").filter((line) => line.startsWith(start));
}

describe("the gateway's metrics", () => {
  test("count upstream requests by route template, without values from callers", async () => {
    const { ask, url } = await startDemoGateway();
    await ask(`query Page { experiment(id: "ada.mnist.42") { status } }`);
    await ask(`query Page { experiment(id: "canary.canary.471100174") { status } }`);
    await ask(`query Page { job(id: "ada.mnist.jobs.2") { status } }`);
    await ask("{ canary }");
    await ask("{ canary ");
    await sendTo(`${url}/graphql`, { body: "canary=1", headers: { "content-type": "text/plain" } });
    const { status, headers, text } = await sendTo(`${url}/metrics`, { method: "GET" });
    expect([status, headers.get("content-type")]).toEqual([200, expect.stringMatching(/^text\/plain/)]);
    const lines = text
      .split("\n")
      .filter((line) => /^rungraph_\w+(?:total|circuit|running|waiting|shed|open)\b/.test(line))
      .filter((line) => !line.startsWith("rungraph_named_operation_seconds_total"))
      .filter((line) => !/^rungraph_operations_total\S+ 0$/.test(line));
    expect(lines.toSorted()).toEqual(SAMPLES);
    expect(text).toContain(`rungraph_operation_seconds_count{type="query"} 3`);
    expect(text).toContain(
      `rungraph_upstream_request_seconds_count{method="GET",route="{owner}/{project}/experiments/{id}/"} 2`,
    );
    expect(text).toContain(`rungraph_build_info{version="${packageJson.version}"} 1\n`);
    expect(text).not.toMatch(/canary|471100174|mnist/i);
  });

  test("count an operation once, by its most severe code", async () => {
    const { ask, url } = await startBefore(({ path }) =>
      path.endsWith("/2/") ? { json: { detail: "no" }, status: 500 } : undefined,
    );
    await ask(
      `{ first: job(id: "ada.mnist.jobs.1") { status } second: job(id: "ada.mnist.jobs.2") { status } }`,
    );
    await ask(`{ wrong: job(id: "canary") { id } missing: job(id: "ada.mnist.jobs.1") { status } }`);
    const lines = await linesOf(url, "rungraph_operations_total");
    expect(lines.filter((line) => !line.endsWith(" 0"))).toEqual([
      `rungraph_operations_total{type="query",code="UPSTREAM_ERROR"} 1`,
      `rungraph_operations_total{type="query",code="BAD_USER_INPUT"} 1`,
    ]);
  });

  test.each([
    ["30000", ["10", "15", "30", "+Inf"]],
    ["45000", ["15", "30", "45", "+Inf"]],
  ])("have one bucket that ends at a deadline of %s ms", async (deadline, last) => {
    const env = { REQUEST_TIMEOUT_MS: deadline, UPSTREAM_TIMEOUT_MS: deadline };
    const { ask, url } = await startBefore({ "users/": { username: "ada" } }, env);
    await ask(VIEWER);
    for (const metric of ["rungraph_operation_seconds", "rungraph_upstream_request_seconds"]) {
      const lines = await linesOf(url, `${metric}_bucket{`);
      const bounds = lines.flatMap((line) => /le="([^"]+)"/.exec(line)?.[1] ?? []);
      expect(bounds.slice(-4)).toEqual(last);
    }
  });

  test("count the upstream requests of each query and mutation, and retries", async () => {
    const answers = [html(503), { json: { id: 1, last_status: "running" } }];
    const service = await startFake(() => answers.shift() ?? { json: { id: 2, last_status: "running" } });
    const env = { UPSTREAM_RETRIES: "2" };
    const { ask, url } = await startGateway({ upstream: service, env, clock: fakeClock().clock });
    await ask(`{ job(id: "ada.mnist.jobs.1") { status } }`);
    await ask(`mutation { stopJob(id: "ada.mnist.jobs.1", force: true) { job { id } } }`);
    await ask("{ __typename }");
    await ask("{ canary }");
    await subscribe(url, { query: `subscription { runUpdated(id: "ada.mnist.jobs.1") { reason } }` });
    expect(service.inOrder()).toHaveLength(3);
    const requests = await linesOf(url, "rungraph_operation_upstream_requests");
    expect(requests.filter((line) => /"[012]"|sum|count/.test(line))).toEqual([
      `rungraph_operation_upstream_requests_bucket{le="0"} 1`,
      `rungraph_operation_upstream_requests_bucket{le="1"} 2`,
      `rungraph_operation_upstream_requests_bucket{le="2"} 3`,
      "rungraph_operation_upstream_requests_sum 3",
      "rungraph_operation_upstream_requests_count 3",
    ]);
    expect(await linesOf(url, "rungraph_upstream_retries")).toEqual(["rungraph_upstream_retries_total 1"]);
  });

  test("count operations by client name and version", async () => {
    const { ask, url } = await startDemoGateway();
    const send = (headers: Record<string, string>, query = VIEWER) => ask(query, {}, { headers });
    await send({ "apollographql-client-name": "web", "apollographql-client-version": "1.2.0+4" });
    await send({ "graphql-client-name": "web", "graphql-client-version": "1.2.0+4" }, "{ canary }");
    await send({ "graphql-client-name": "@acme/nightly report" });
    await send({ "graphql-client-version": "2" });
    for (const name of ["", 'canary"}', "c".repeat(65), "canäry"])
      await send({ "graphql-client-name": name });
    expect(await linesOf(url, "rungraph_client_operations_total")).toEqual([
      `rungraph_client_operations_total{client="unknown",version="unknown"} 1`,
      `rungraph_client_operations_total{client="other",version="other"} 4`,
      `rungraph_client_operations_total{client="web",version="1.2.0+4"} 2`,
      `rungraph_client_operations_total{client="@acme/nightly report",version="unknown"} 1`,
    ]);
    expect(await linesOf(url, `rungraph_client_failed_operations_total{client="web"`)).toEqual([
      `rungraph_client_failed_operations_total{client="web",version="1.2.0+4"} 1`,
    ]);
  });

  test("count operations by name, with failures and total duration", async () => {
    const { ask, url } = await startDemoGateway();
    await ask(`query Page { viewer { username } }`);
    await ask(`query Page { job(id: "ada.mnist.jobs.4242") { status } }`);
    await ask(`mutation Page { stopJob(id: "ada.mnist.jobs.2", force: true) { job { id } } }`);
    await ask(VIEWER);
    await ask(`query ${"Long".repeat(50)} { __typename }`);
    expect(await linesOf(url, "rungraph_named_operations_total")).toEqual([
      `rungraph_named_operations_total{type="query",operation="Page"} 2`,
      `rungraph_named_operations_total{type="mutation",operation="Page"} 1`,
      `rungraph_named_operations_total{type="query",operation="anonymous"} 1`,
      `rungraph_named_operations_total{type="query",operation="other"} 1`,
    ]);
    expect(
      await linesOf(url, `rungraph_named_failed_operations_total{type="query",operation="Page"`),
    ).toEqual([`rungraph_named_failed_operations_total{type="query",operation="Page"} 1`]);
    const secondsIn = async (metric: string) =>
      (await linesOf(url, `${metric}{type="query"`)).reduce(
        (sum, line) => sum + Number(line.split(" ").at(-1)),
        0,
      );
    const all = await secondsIn("rungraph_operation_seconds_sum");
    expect(all).toBeGreaterThan(0);
    expect(await secondsIn("rungraph_named_operation_seconds_total")).toBeCloseTo(all, 9);
  });

  test("replace the least recently used of 100 clients after ten minutes", async () => {
    const send = ({ ask }: Gateway, name: string, client = "web") =>
      ask(VIEWER, {}, { headers: { "graphql-client-name": client, "graphql-client-version": name } });
    const sampleOf = (name: string) => `rungraph_client_operations_total{client="web",version="${name}"}`;
    const other = `rungraph_client_operations_total{client="other",version="other"}`;
    const { clock, advance } = fakeClock();
    const upstream = await startFake(() => ({ json: { username: "ada" } }));
    const gateway = await startGateway({ upstream, clock });
    /** The values for these names, and then the value for `other`. Undefined for names without a sample. */
    const valuesOf = async (...names: readonly string[]) => {
      const lines = await linesOf(gateway.url, "rungraph_client_operations_total");
      const valueOf = (sample: string) => lines.find((line) => line.startsWith(`${sample} `))?.split(" ")[1];
      return [...names.map(sampleOf), other].map(valueOf);
    };
    // A client with the reserved name `other` neither takes a slot nor frees one.
    await send(gateway, "other", "other");
    for (let name = 0; name < 100; name++) await send(gateway, `V${name}`);
    advance(599_999);
    await send(gateway, "New");
    expect(await valuesOf("New")).toEqual([undefined, "2"]);
    // V0 is used again, so it is no longer the least recently used name.
    await send(gateway, "V0");
    advance(1);
    for (const name of ["New", "New"]) await send(gateway, name);
    expect(await valuesOf("New", "V0", "V1", "V2")).toEqual(["2", "2", undefined, "1", "2"]);
    // A name that returns starts again at 1.
    await send(gateway, "V1");
    expect(await valuesOf("V1")).toEqual(["1", "2"]);
  });

  test("accept new names only from callers with verified tokens", async () => {
    const { ask, url } = await startBefore(({ headers: { authorization } }) =>
      authorization === "token t0ken" ? { json: { username: "ada" } } : { json: {}, status: 401 },
    );
    const send = (token: string | null, name: string) =>
      ask(`query ${name} { viewer { username } }`, {}, { token, headers: { "graphql-client-name": name } });
    await send("t0ken", "Known");
    for (const token of ["invented", null]) for (const name of ["Known", "Canary"]) await send(token, name);
    expect(await linesOf(url, "rungraph_named_operations_total")).toEqual([
      `rungraph_named_operations_total{type="query",operation="Known"} 3`,
      `rungraph_named_operations_total{type="query",operation="other"} 2`,
    ]);
    expect(await linesOf(url, "rungraph_client_operations_total")).toEqual([
      `rungraph_client_operations_total{client="unknown",version="unknown"} 0`,
      `rungraph_client_operations_total{client="other",version="other"} 2`,
      `rungraph_client_operations_total{client="Known",version="unknown"} 3`,
    ]);
  });

  test("can be switched off", async () => {
    const { url } = await startDemoGateway({ env: { METRICS: "off" } });
    expect((await sendTo(`${url}/metrics`, { method: "GET" })).status).toBe(404);
  });
});
