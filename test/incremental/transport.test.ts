import { describe, expect, test } from "vitest";
import { latch } from "../support/latch.ts";
import { RELEASE_02, startBefore, startGateway } from "../support/gateway.ts";
import { partsOf, type PayloadJson } from "../support/incremental.ts";
import { EXPERIMENT as RECORD, SIGNED_IN, startBuilt } from "./build-of-a-run.ts";
import { post } from "../support/raw-requests.ts";

const QUERY = `{ experiment(id: "ada.mnist.3") { status ... @defer(label: "build") { buildJob { description } } } }`;
const STREAM = `{ entities(ids: ["RXhwZXJpbWVudDphZGEvbW5pc3QvMw", "?"]) @stream(initialCount: 1) { id } }`;

const start = async (opened?: Promise<void>) =>
  startGateway({ upstream: await startBuilt(opened), env: { EXPLAIN: "on" } });

const HEADERS = { ...SIGNED_IN, "content-type": "application/json", "x-request-id": "request-1" };

const ask = (url: string, accept: string, query = QUERY, headers: Record<string, string> = {}) =>
  post(`${url}/graphql`, { query }, { ...HEADERS, accept, ...headers });

const FIRST = `{"data":{"experiment":{"status":"RUNNING"}},"pending":[{"id":"0","path":["experiment"],"label":"build"}],"hasNext":true}`;
const SECOND = `{"incremental":[{"id":"0","data":{"buildJob":{"description":"A build."}}}],"completed":[{"id":"0"}],"hasNext":false}`;

const EXPERIMENT = "{owner}/{project}/experiments/{id}/";
const BUILD = "{owner}/{project}/builds/{id}/";

const TYPE = 'multipart/mixed; boundary="-"';
const parts = (...payloads: readonly string[]): string =>
  `\r\n---${payloads.map((json) => `\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${json.length}\r\n\r\n${json}\r\n---`).join("")}--\r\n`;
const events = (...payloads: readonly string[]): string =>
  `${payloads.map((json) => `event: next\ndata: ${json}\n\n`).join("")}event: complete\ndata:\n\n`;
/** A response without the comments of an event stream. */
const textOf = async (response: Response) => (await response.text()).replaceAll(/^:\n\n/gm, "");

describe("incremental delivery by the Accept header", () => {
  test.each([
    "multipart/mixed",
    // Apollo Client's handlers and urql send these media types before `application/json`.
    "multipart/mixed;incrementalSpec=v0.2,application/graphql-response+json,application/json;q=0.9",
  ])("sends multipart payloads for %s", async (accept) => {
    const { url } = await start();
    const response = await ask(url, accept);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, TYPE]);
    expect(response.headers.get("cache-control")).toBe("private, no-store");
    expect(response.headers.get("x-request-id")).toBe("request-1");
    expect(await response.text()).toBe(parts(FIRST, SECOND));
  });

  test("uses the format of August 2022, with a path per payload", async () => {
    const { url } = await start();
    const accept = 'multipart/mixed; boundary="-"; deferSpec=20220824, application/json';
    const response = await ask(url, accept);
    expect(response.headers.get("content-type")).toBe(TYPE);
    expect(await response.text()).toBe(
      parts(
        `{"data":{"experiment":{"status":"RUNNING"}},"hasNext":true}`,
        `{"incremental":[{"data":{"buildJob":{"description":"A build."}},"path":["experiment"],"label":"build"}],"hasNext":false}`,
      ),
    );
    const streamed = await ask(url, accept, STREAM);
    expect(await streamed.text()).toContain(
      `{"incremental":[{"items":[null],"path":["entities",1],"errors":[`,
    );
  });

  test.each([
    ["", [{ id: "1" }]],
    ["; deferSpec=20220824", undefined],
  ])("ends with a message without data below a null, for multipart/mixed%s", async (format, completed) => {
    const { opened, open } = latch();
    const { url } = await startBefore(async ({ path }) => {
      if (path.includes("/statuses")) await opened;
      return path.includes("/builds/") ? { json: { detail: "No." }, status: 403 } : { json: RECORD };
    }, RELEASE_02);
    const query = `{ experiment(id: "ada.mnist.3") {
      ... @defer { buildJob { status } } buildJob { id ... @defer { statuses { totalCount } } }
    } }`;
    const response = await ask(url, `multipart/mixed${format}, application/json`, query);
    const payloads: PayloadJson[] = [];
    for await (const part of partsOf(response)) {
      payloads.push(part);
      // The build has become null before the response to the read of its statuses.
      if (payloads.length === 2) open();
    }
    expect(payloads).toHaveLength(3);
    expect(payloads[1]).toMatchObject({ incremental: [{ data: { buildJob: null } }], hasNext: true });
    expect(payloads[2]).toEqual({ completed, hasNext: false });
  });

  test.each([
    "application/json",
    "application/json, multipart/mixed;q=0",
    "application/json, text/event-stream;charset=utf-8;q=0",
    'multipart/mixed; subscriptionSpec="1.0", application/json',
    "*/*",
  ])("sends one whole result for %s", async (accept) => {
    const { url } = await start();
    const response = await ask(url, accept);
    expect(response.headers.get("content-type")).toContain("application/json");
    expect(await response.json()).toEqual({
      data: { experiment: { status: "RUNNING", buildJob: { description: "A build." } } },
    });
  });
});

test("an operation can be requested whole, in payloads, and whole again", async () => {
  const { url } = await start();
  const whole = `{"data":{"experiment":{"status":"RUNNING","buildJob":{"description":"A build."}}}}`;
  for (const [accept, body] of [
    ["application/json", whole],
    ["multipart/mixed", parts(FIRST, SECOND)],
    ["application/json", whole],
  ] as const)
    expect(await (await ask(url, accept)).text()).toBe(body);
});

const WHOLE = `{"data":{"experiment":{"status":"RUNNING","buildJob":{"description":"A build."}}}}`;

test.each([
  ["multipart/mixed", parts],
  ["text/event-stream", events],
  ["multipart/mixed, application/json", String],
])("sends a result without deferred parts as one payload for %s", async (accept, form) => {
  const { url } = await start();
  const response = await ask(url, accept, QUERY.replace("@defer(", "@defer(if: false, "));
  expect(response.status).toBe(200);
  expect((await textOf(response)).trimEnd()).toBe(form(WHOLE).trimEnd());
});

test("sends compressed payloads as soon as they are ready", async () => {
  const { opened, open } = latch();
  const { url } = await start(opened);
  const response = await ask(url, "multipart/mixed", QUERY, { "accept-encoding": "gzip" });
  expect(response.headers.get("content-encoding")).toBe("gzip");
  let text = "";
  for await (const bytes of response.body ?? []) {
    text += Buffer.from(bytes).toString();
    // The service has not sent the data of the second payload yet.
    if (text.includes(FIRST)) open();
  }
  expect(text).toBe(parts(FIRST, SECOND));
});

test("an operation's log line and explanation cover all its payloads", async () => {
  const { url, logged } = await start();
  const response = await ask(url, "multipart/mixed", QUERY, { "x-rungraph-explain": "1" });
  const payloads: PayloadJson[] = [];
  for await (const part of partsOf(response)) payloads.push(part);
  const requestsOf = ({ extensions }: PayloadJson) => extensions?.["explain"];
  expect(requestsOf(payloads[0] ?? {})).toMatchObject({ requests: [{ template: EXPERIMENT }] });
  expect(requestsOf(payloads[1] ?? {})).toMatchObject({
    requests: [{ template: EXPERIMENT }, { template: BUILD, isDeferred: true }],
    totals: { requests: 2 },
  });
  expect(logged()).toContain('"upstreamRequests":2');
});
