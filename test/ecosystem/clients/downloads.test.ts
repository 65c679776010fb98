import { gunzipSync } from "node:zlib";
import { GraphQLClient } from "graphql-request";
import { expect, test } from "vitest";
import { READABLE_HEADERS } from "../../support/raw-requests.ts";
import { startDemoGateway, tokenOf } from "../../support/demo-gateway.ts";

const ORIGIN = "https://runs.example.com";

/**
 * Starts a gateway. Returns the data of a run's page: the URLs of its downloads from GraphQL, and the header that ada sends with every
 * request.
 */
async function startPage(env: Record<string, string> = {}) {
  const { url, calls, demo } = await startDemoGateway({ env });
  const headers = { authorization: `token ${tokenOf(demo, "ada")}` };
  const client = new GraphQLClient(`${url}/graphql`, { headers });
  const { experiment } = await client.request<{ experiment: { logsUrl: string; outputsUrl: string } }>(
    `query ($id: ID!) { experiment(id: $id) { logsUrl outputsUrl } }`,
    { id: "ada.mnist.42" },
  );
  // The lookup itself checks that the experiment exists.
  expect(calls()).toEqual(["GET ada/mnist/experiments/42/"]);
  return { ...experiment, graphqlUrl: `${url}/graphql`, client, headers, calls };
}

/** Sends the preflight request of a browser for a page's request. */
const preflight = (url: string, origin: string, method: string, headers: string) =>
  fetch(url, {
    method: "OPTIONS",
    headers: { origin, "access-control-request-method": method, "access-control-request-headers": headers },
  });

/** The permissions in the CORS headers of a response. */
const grantOf = ({ headers }: Response) => ({
  origin: headers.get("access-control-allow-origin"),
  methods: headers.get("access-control-allow-methods"),
  headers: headers.get("access-control-allow-headers"),
  readable: headers.get("access-control-expose-headers")?.split(",").toSorted(),
});

test("a log download streams the same text that `logs` returns", async () => {
  const { logsUrl, headers, client, calls } = await startPage();
  const response = await fetch(logsUrl, { headers });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  let text = "";
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk;
  expect(calls()).toEqual(["GET ada/mnist/experiments/42/logs/"]);

  expect(text).toContain("$ python train.py --lr=0.021");
  expect(await client.request(`{ experiment(id: "ada.mnist.42") { logs { text hasMore } } }`)).toEqual({
    experiment: { logs: { text, hasMore: false } },
  });
});

test("outputs download as a named compressed archive, readable as a blob", async () => {
  const { outputsUrl, headers, calls } = await startPage();
  const response = await fetch(outputsUrl, { headers });
  expect(response.headers.get("content-disposition")).toBe('attachment; filename="ada.mnist.42.tar.gz"');
  const blob = await response.blob();
  expect(blob.type).toBe("application/gzip");
  const archive = gunzipSync(await blob.arrayBuffer());
  expect(archive.toString("utf8", 257, 262)).toBe("ustar");
  expect(archive.toString("utf8", 0, archive.indexOf(0))).toBe("ada_mnist_42/metrics.csv");
  expect(calls()).toEqual(["GET ada/mnist/experiments/42/outputs"]);
});

test("a cross-origin page passes preflight for GraphQL and downloads", async () => {
  const { logsUrl, outputsUrl, graphqlUrl, calls } = await startPage({ CORS_ORIGINS: ORIGIN });
  const asked = [
    [graphqlUrl, "POST", "authorization,content-type"],
    [logsUrl, "GET", "authorization"],
    [outputsUrl, "GET", "authorization"],
  ] as const;
  for (const [url, method, headers] of asked) {
    const answer = await preflight(url, ORIGIN, method, headers);
    const granted = { origin: ORIGIN, methods: "GET,POST", headers, readable: READABLE_HEADERS };
    expect([answer.status, grantOf(answer)]).toEqual([204, granted]);
  }
  expect(calls()).toEqual([]);
});

test("a cross-origin page can read the file name and request id", async () => {
  const { outputsUrl, graphqlUrl, headers, calls } = await startPage({ CORS_ORIGINS: ORIGIN });
  const page = { ...headers, origin: ORIGIN, "x-request-id": "page-7" };
  for (const url of [outputsUrl, `${graphqlUrl}?query={viewer{id}}`]) {
    const response = await fetch(url, { headers: page });
    expect(response.status).toBe(200);
    expect(grantOf(response)).toMatchObject({ origin: ORIGIN, readable: READABLE_HEADERS });
    expect(response.headers.get("x-request-id")).toBe("page-7");
    await response.arrayBuffer();
  }
  expect(calls()).toEqual(["GET ada/mnist/experiments/42/outputs", "GET users/"]);
});
