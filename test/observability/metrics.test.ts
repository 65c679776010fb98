import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { sendTo } from "../support/raw-requests.ts";

describe("the metrics of the gateway", () => {
  test("count operations and exchanges by templates, never by names", async () => {
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
      .filter((line) => /^rungraph_\w+(?:total|circuit|running|waiting|shed|open)\b/.test(line));
    expect(lines.toSorted()).toEqual([
      "rungraph_circuit_open 0",
      "rungraph_downloads_running 0",
      `rungraph_exchanges_running 0`,
      "rungraph_exchanges_shed 0",
      `rungraph_exchanges_total{method="GET",route="{owner}/{project}/experiments/{id}/",outcome="2xx"} 1`,
      `rungraph_exchanges_total{method="GET",route="{owner}/{project}/experiments/{id}/",outcome="404"} 1`,
      `rungraph_exchanges_total{method="GET",route="{owner}/{project}/jobs/{id}/",outcome="2xx"} 1`,
      "rungraph_exchanges_waiting 0",
      "rungraph_operations_running 0",
      `rungraph_operations_total{type="invalid",code="GRAPHQL_PARSE_FAILED"} 1`,
      `rungraph_operations_total{type="invalid",code="GRAPHQL_VALIDATION_FAILED"} 1`,
      `rungraph_operations_total{type="query",code="NOT_FOUND"} 1`,
      `rungraph_operations_total{type="query",code="OK"} 2`,
      `rungraph_operations_total{type="unread",code="BAD_USER_INPUT"} 1`,
      "rungraph_polls_running 0",
      "rungraph_subscriptions_running 0",
    ]);
    expect(text).toContain(`rungraph_operation_seconds_count{type="query"} 3`);
    expect(text).toContain(
      `rungraph_exchange_seconds_count{method="GET",route="{owner}/{project}/experiments/{id}/"} 2`,
    );
    expect(text).not.toMatch(/canary|471100174|mnist/i);
  });

  test("can be switched off", async () => {
    const { url } = await startDemoGateway({ env: { METRICS: "off" } });
    expect((await sendTo(`${url}/metrics`, { method: "GET" })).status).toBe(404);
  });
});
