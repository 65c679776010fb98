import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { JSON_BODY, operationsIn, operationText, type Sending, sendTo } from "../support/raw-requests.ts";

/** A body of so many bytes in pieces, whose length nobody announces. */
function inPieces(text: string): ReadableStream {
  const pieces = text.match(/[^]{1,1000}/g) ?? [];
  return new ReadableStream({
    pull(controller) {
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(piece));
    },
  });
}

describe("bodies of requests", () => {
  const STOP = `mutation { stopJob(id: "ada.mnist.jobs.2", force: true) { job { id } } }`;
  const form = new FormData();
  form.set("operations", operationText(STOP));
  form.set("map", "{}");

  test.each<[string, Sending]>([
    ["a form", { body: new URLSearchParams({ query: STOP }) }],
    ["a multipart form", { body: form }],
    ["plain text", { body: operationText(STOP), headers: { "content-type": "text/plain" } }],
    [
      "plain text that names JSON",
      { body: operationText(STOP), headers: { "content-type": "text/plain; application/json" } },
    ],
    ["a bare document", { body: STOP, headers: { "content-type": "application/graphql" } }],
    [
      "JSON that a proxy has compressed",
      {
        body: operationText(STOP),
        headers: { "content-type": "application/json", "content-encoding": "gzip" },
      },
    ],
    ["something without a type", { body: operationText(STOP), headers: { "content-type": "" } }],
  ])("of %s are refused, and nothing is run", async (_, sending) => {
    const { url, logged, calls, demo } = await startDemoGateway();
    const token = demo.users[0]?.token ?? "";
    const headers = { ...sending.headers, authorization: `token ${token}` };
    const { status, codes } = await sendTo(`${url}/graphql`, { ...sending, headers });
    expect(status).toBe(415);
    expect(codes()).toEqual(["BAD_REQUEST"]);
    expect(calls()).toEqual([]);
    expect(operationsIn(logged() || "{}")).toEqual([]);
  });

  const withLength = (bytes: number) => operationText("{ __typename }").padEnd(bytes);

  test.each([
    ["with its length", (bytes: number) => withLength(bytes)],
    ["in pieces", (bytes: number) => inPieces(withLength(bytes))],
  ])("sent %s may have MAX_BODY_BYTES and no byte more", async (_, body) => {
    const { url } = await startDemoGateway({ env: { MAX_BODY_BYTES: "5000" } });
    const fits = await sendTo(`${url}/graphql`, { body: body(5000), headers: JSON_BODY });
    expect(JSON.parse(fits.text)).toEqual({ data: { __typename: "Query" } });
    const tooLong = await sendTo(`${url}/graphql`, { body: body(5001), headers: JSON_BODY });
    expect([tooLong.status, tooLong.codes()]).toEqual([413, ["OPERATION_TOO_LARGE"]]);
    const farTooLong = await sendTo(`${url}/graphql`, { body: body(500_000), headers: JSON_BODY });
    expect([farTooLong.status, farTooLong.codes()]).toEqual([413, ["OPERATION_TOO_LARGE"]]);
    const next = await sendTo(`${url}/graphql`, { body: body(100), headers: JSON_BODY });
    expect(JSON.parse(next.text)).toEqual({ data: { __typename: "Query" } });
  });

  test("that break off half-way do no harm", async () => {
    const { url, ask } = await startDemoGateway();
    const breaking = request(`${url}/graphql`, {
      method: "POST",
      headers: { ...JSON_BODY, "transfer-encoding": "chunked" },
    });
    breaking.on("error", () => {});
    const broken = new Promise((done) => breaking.once("close", done));
    breaking.write(`{"query":`, () => breaking.destroy());
    await broken;
    expect(await ask("{ __typename }")).toEqual({ data: { __typename: "Query" } });
  });
});
