import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { sendTo } from "../support/raw-requests.ts";
import { html } from "../support/replies.ts";

/** The samples whose lines begin with this text. */
async function linesOf(url: string, start: string): Promise<string[]> {
  const { text } = await sendTo(`${url}/metrics`, { method: "GET" });
  return text.split("\n").filter((line) => line.startsWith(start));
}

describe("the metrics of the gateway", () => {
  test("count operations and upstream requests by templates, never by names", async () => {
    const { ask, url } = await startDemoGateway();
    await ask(`query Canary { experiment(id: "ada.mnist.42") { status } }`);
    await ask(`query Canary { experiment(id: "canary.canary.471100174") { status } }`);
    await ask(`query Canary { job(id: "ada.mnist.jobs.2") { status } }`);
    await ask("{ canary }");
    await ask("{ canary ");
    await sendTo(`${url}/graphql`, { body: "canary=1", headers: { "content-type": "text/plain" } });
    const { status, headers, text } = await sendTo(`${url}/metrics`, { method: "GET" });
    expect([status, headers.get("content-type")]).toEqual([200, expect.stringMatching(/^text\/plain/)]);
    const lines = text
      .split("\n")
      .filter((line) => /^rungraph_\w+(?:total|circuit|running|waiting|shed|open)\b/.test(line))
      .filter((line) => !/^rungraph_operations_total\S+ 0$/.test(line));
    expect(lines.toSorted()).toEqual([
      "rungraph_circuit_open 0",
      `rungraph_client_failed_operations_total{client="other",version="other"} 0`,
      `rungraph_client_failed_operations_total{client="unknown",version="unknown"} 3`,
      `rungraph_client_operations_total{client="other",version="other"} 0`,
      `rungraph_client_operations_total{client="unknown",version="unknown"} 5`,
      "rungraph_downloads_running 0",
      "rungraph_operations_running 0",
      `rungraph_operations_total{type="invalid",code="GRAPHQL_PARSE_FAILED"} 1`,
      `rungraph_operations_total{type="invalid",code="GRAPHQL_VALIDATION_FAILED"} 1`,
      `rungraph_operations_total{type="query",code="NOT_FOUND"} 1`,
      `rungraph_operations_total{type="query",code="OK"} 2`,
      `rungraph_operations_total{type="unread",code="BAD_USER_INPUT"} 1`,
      "rungraph_polls_running 0",
      "rungraph_subscriptions_running 0",
      "rungraph_upstream_requests_running 0",
      "rungraph_upstream_requests_shed_total 0",
      `rungraph_upstream_requests_total{method="GET",route="{owner}/{project}/experiments/{id}/",outcome="2xx"} 1`,
      `rungraph_upstream_requests_total{method="GET",route="{owner}/{project}/experiments/{id}/",outcome="404"} 1`,
      `rungraph_upstream_requests_total{method="GET",route="{owner}/{project}/jobs/{id}/",outcome="2xx"} 1`,
      "rungraph_upstream_requests_waiting 0",
      "rungraph_upstream_retries_total 0",
    ]);
    expect(text).toContain(`rungraph_operation_seconds_count{type="query"} 3`);
    expect(text).toContain(
      `rungraph_upstream_request_seconds_count{method="GET",route="{owner}/{project}/experiments/{id}/"} 2`,
    );
    expect(text).not.toMatch(/canary|471100174|mnist/i);
  });

  test("count an operation once, by its most severe code", async () => {
    const service = await startFake(({ path }) =>
      path.endsWith("/2/") ? { json: { detail: "no" }, status: 500 } : undefined,
    );
    const { ask, url } = await startGateway({ upstream: service });
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

  test("count the upstream requests of each query and mutation, and retries", async () => {
    const answers = [html(503), { json: { id: 1, last_status: "running" } }];
    const service = await startFake(() => answers.shift() ?? { json: { id: 2, last_status: "running" } });
    const { ask, url } = await startGateway({ upstream: service, env: { UPSTREAM_RETRIES: "2" } });
    await ask(`{ job(id: "ada.mnist.jobs.1") { status } }`);
    await ask(`mutation { stopJob(id: "ada.mnist.jobs.1") { job { id } } }`);
    await ask("{ __typename }");
    await ask("{ canary }");
    expect(service.inOrder()).toEqual([
      "GET ada/mnist/jobs/1/",
      "GET ada/mnist/jobs/1/",
      "POST ada/mnist/jobs/1/stop",
    ]);
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

  test("tell the version of the gateway", async () => {
    const { ask, url } = await startDemoGateway();
    const { data } = await ask("{ gateway { version } }");
    const { version } = (data as { gateway: { version: string } }).gateway;
    expect(await linesOf(url, "rungraph_build_info")).toEqual([
      `rungraph_build_info{version="${version}"} 1`,
    ]);
  });

  test("count operations by the client that sends them and its version", async () => {
    const { ask, url } = await startDemoGateway();
    const send = (headers: Record<string, string>, query = "{ __typename }") => ask(query, {}, { headers });
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

  test("name a hundred clients: further ones are counted together", async () => {
    const { ask, url } = await startDemoGateway();
    for (let version = 0; version < 110; version++) {
      const headers = { "graphql-client-name": "web", "graphql-client-version": `${version}` };
      await ask("{ __typename }", {}, { headers });
    }
    const lines = await linesOf(url, "rungraph_client_operations_total");
    expect(lines).toHaveLength(100);
    expect(lines).toContain(`rungraph_client_operations_total{client="other",version="other"} 12`);
    expect(lines.at(-1)).toBe(`rungraph_client_operations_total{client="web",version="97"} 1`);
  });

  test("can be switched off", async () => {
    const { url } = await startDemoGateway({ env: { METRICS: "off" } });
    expect((await sendTo(`${url}/metrics`, { method: "GET" })).status).toBe(404);
  });
});
