import { describe, expect, test, vi } from "vitest";
import { counted, delayAll, startBreakable } from "./breakable.ts";
import { metricOf, reaches } from "../support/metrics.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { startBefore } from "../support/gateway.ts";
import {
  askFor,
  firstCodeOf,
  OUTPUTS_OF_42,
  RUNNING_ANSWER,
  RUNNING_RECORD,
  statusesOf,
  upTo,
} from "../support/one-read.ts";

describe("with a busy upstream service, the gateway", () => {
  const env = { UPSTREAM_CONNECTIONS: "2", UPSTREAM_QUEUE: "3" };

  test("runs and queues requests up to limits and sheds the rest immediately", async () => {
    const { service, one, many, gateway } = await startBreakable(env);
    const delayed = delayAll();
    service.fail(/./, delayed.fault);
    const verdicts: string[] = [];
    const six = Array.from({ length: 6 }, () => one().then((verdict) => verdicts.push(verdict)));
    await vi.waitFor(() => expect(verdicts).toEqual(["SERVICE_OVERLOADED"]), LONG_TIMEOUT);
    expect(delayed.count()).toBe(2);
    expect(await metricOf(gateway, "rungraph_upstream_requests_running")).toBe(2);
    expect(await metricOf(gateway, "rungraph_upstream_requests_waiting")).toBe(3);
    expect(await metricOf(gateway, "rungraph_upstream_requests_shed_total")).toBe(1);

    service.heal();
    delayed.release();
    await Promise.all(six);
    expect(counted(verdicts)).toEqual({ SERVICE_OVERLOADED: 1, ok: 5 });
    expect(counted(await many(5))).toEqual({ ok: 5 });
    expect(service.connections()).toBe(2);
  });

  test("keeps an operation within its concurrency limit and completes it", async () => {
    const { service, gateway } = await startBreakable({ MAX_UPSTREAM_WIDTH: "4" });
    const delayed = delayAll();
    service.fail(/./, delayed.fault);
    const asked = gateway.ask<object, unknown>(statusesOf(upTo(12)));
    for (let round = 0; round < 3; round++) {
      await delayed.arrived(4);
      // Any fifth request would have arrived before this response.
      await gateway.ask("{ gateway { version } }");
      expect(delayed.count()).toBe(4);
      delayed.release();
    }
    const { data, errors } = await asked;
    expect(errors).toBeUndefined();
    expect(Object.values(data)).toEqual(Array.from({ length: 12 }, () => ({ status: "RUNNING" })));
  });

  test("rejects an operation's reads if more than four times MAX_UPSTREAM_REQUESTS wait", async () => {
    const { service, gateway } = await startBreakable({
      MAX_UPSTREAM_REQUESTS: "2",
      MAX_UPSTREAM_WIDTH: "1",
    });
    const delayed = delayAll();
    service.fail(/./, delayed.fault);
    const asked = gateway.ask(statusesOf(upTo(12)));
    // One of twelve reads was sent.
    await reaches(gateway, "rungraph_upstream_requests_waiting", 8);
    service.heal();
    delayed.release();
    expect(await asked).toMatchObject({
      data: { of1: { status: "RUNNING" }, of2: { status: "RUNNING" }, of3: null },
      errors: [{ extensions: { code: "REQUEST_LIMIT_EXCEEDED", unsentRequests: 10 } }],
    });
  });

  test("frees connections for others during a download", async () => {
    const { service, gateway, one } = await startBreakable({
      UPSTREAM_CONNECTIONS: "1",
      UPSTREAM_QUEUE: "1",
    });
    const release: (() => void)[] = [];
    service.fail(/outputs/, ({ response }) => {
      response.writeHead(200).write("half");
      release.push(() => response.end());
    });
    const headers = { authorization: "token t0ken" };
    const response = await fetch(gateway.url + OUTPUTS_OF_42, { headers });
    expect(await one(1)).toBe("ok");
    for (const end of release) end();
    expect(await response.text()).toBe("half");
  });
});

test("the unread rest of a response does not occupy a connection", async () => {
  const gateway = await startBefore(
    ({ method }) =>
      method === "GET" ? { json: RUNNING_RECORD } : (response) => response.writeHead(200).write("{"),
    { UPSTREAM_CONNECTIONS: "1" },
  );
  const stop = `mutation { stopExperiment(id: "ada.mnist.42", force: true) { outcome } }`;
  expect(firstCodeOf(await askFor(gateway, stop))).toBe("ok");
  expect(await askFor(gateway)).toEqual(RUNNING_ANSWER);
});
