import { describe, expect, test } from "vitest";
import { type Answer, startBefore } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { LOG_CALL, LOG_ROUTE } from "../support/logs.ts";
import FAILURES from "./failures.json" with { type: "json" };
import LOG_NAMES from "./log-names.json" with { type: "json" };
import REFUSED from "./refused.json" with { type: "json" };
import { errorsIn, RUN, startDownloads } from "./download-client.ts";

const URLS = `{
  experiment(id: "ada.mnist.42") { logsUrl outputsUrl }
  job(id: "ada.mnist.jobs.3") { logsUrl outputsUrl }
  buildJob(id: "ada.mnist.builds.9") { logsUrl }
}`;

const RUNS: Record<string, object> = {
  "ada/mnist/experiments/42/": { id: 42 },
  "ada/mnist/jobs/3/": { id: 3 },
  "ada/mnist/builds/9/": { id: 9 },
};

const RUN_CALLS = Object.keys(RUNS)
  .map((path) => `GET ${path}`)
  .toSorted();

type Urls = Record<"experiment" | "job" | "buildJob", { logsUrl: string; outputsUrl: string }>;

const EVERY_BYTE = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 256));

const HEADERS = { authorization: "token t0ken", "x-request-id": "request-1" };

describe("a download", () => {
  test.each<Record<string, string>>([{}, { PUBLIC_URL: "https://runs.example/graph/" }])(
    "has a public gateway URL that needs no extra request: %j",
    async (env) => {
      const { ask, url, service } = await startBefore(RUNS, env);
      const base = env["PUBLIC_URL"] ?? `${url}/`;
      const at = (name: string, what: string) => `${base}downloads/${globalId(name)}/${what}`;
      const both = (name: string) => ({ logsUrl: at(name, "logs"), outputsUrl: at(name, "outputs") });
      expect(await ask(URLS)).toEqual({
        data: {
          experiment: both("Experiment:ada/mnist/42"),
          job: both("Job:ada/mnist/3"),
          buildJob: { logsUrl: at("BuildJob:ada/mnist/9", "logs") },
        },
      });
      expect(service.calls()).toEqual(RUN_CALLS);
    },
  );

  const downloads: ["experiment" | "job" | "buildJob", "logsUrl" | "outputsUrl", string, string][] = [
    ["experiment", "logsUrl", LOG_CALL, "ada.mnist.42.log"],
    ["job", "logsUrl", "GET ada/mnist/jobs/3/logs", "ada.mnist.jobs.3.log"],
    ["buildJob", "logsUrl", "GET ada/mnist/builds/9/logs", "ada.mnist.builds.9.log"],
    ["experiment", "outputsUrl", "GET ada/mnist/experiments/42/outputs", "ada.mnist.42.tar.gz"],
    ["job", "outputsUrl", "GET ada/mnist/jobs/3/outputs", "ada.mnist.jobs.3.tar.gz"],
  ];

  test.each(downloads)("of %s.%s returns every byte as sent", async (kind, field, call, file) => {
    const { ask, service } = await startBefore(({ path }) => {
      const run = RUNS[path.replace("/api/v1/", "")];
      if (run) return { json: run };
      const hostile = { "content-type": "text/html; charset=utf-8", "set-cookie": "a=b" };
      return { text: EVERY_BYTE, headers: { ...hostile, "x-powered-by": "canary" } };
    });
    const { data } = (await ask(URLS)) as Answer<Urls>;
    const response = await fetch(data[kind][field], { headers: HEADERS });
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer()).equals(EVERY_BYTE)).toBe(true);
    const isArchive = field === "outputsUrl";
    const headers = Object.fromEntries(response.headers);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox",
      "content-type": isArchive ? "application/gzip" : "text/plain; charset=utf-8",
      "content-disposition": `${isArchive ? "attachment" : "inline"}; filename="${file}"`,
      "cache-control": "private, no-store",
      "x-request-id": "request-1",
    });
    for (const name of ["set-cookie", "x-powered-by"]) expect(headers).not.toHaveProperty(name);
    expect(service.calls().filter((each) => !RUN_CALLS.includes(each))).toEqual([call]);
    expect(service.seen().at(-1)?.headers).toEqual({
      accept: "*/*",
      authorization: "token t0ken",
      "user-agent": expect.stringMatching(/^rungraph\/\d/),
      "x-request-id": "request-1",
      host: new URL(service.url).host,
      connection: "close",
    });
  });

  test.each(REFUSED)(
    "$case returns $status and sends nothing",
    async ({ id, path, status, code, message }) => {
      const { take, service } = await startDownloads(undefined, {});
      const answer = await take({}, `${id.includes(":") ? globalId(id) : id}/${path}`);
      expect(answer.status).toBe(status);
      expect(errorsIn(answer.body)).toEqual([
        { message: expect.stringMatching(message), extensions: expect.objectContaining({ code }) },
      ]);
      expect(service.calls()).toEqual([]);
    },
  );

  test("without a token returns 401 and sends nothing", async () => {
    const { take, service } = await startDownloads();
    const { status, body } = await take({ authorization: "" });
    const message = "Expected the header `Authorization: token <token>`.";
    const error = { message, extensions: { code: "UNAUTHENTICATED" } };
    expect([status, errorsIn(body)]).toMatchObject([401, [error]]);
    expect(service.calls()).toEqual([]);
  });

  test.each(FAILURES)(
    "that the service answers with $status returns $reported with code $code",
    async ({ status, reported, code }) => {
      const { take } = await startDownloads(() => ({ status, json: {}, headers: { location: "/canary" } }));
      const answer = await take({}, `${RUN}/logs`);
      expect([answer.status, answer.headers["location"]]).toEqual([reported, undefined]);
      const upstream = { method: "GET", route: LOG_ROUTE, status };
      const extensions = expect.objectContaining({ code, upstream });
      expect(errorsIn(answer.body)).toEqual([{ message: expect.any(String), extensions }]);
    },
  );

  test("returns 504 when the upstream response does not start in time", async () => {
    const { take } = await startDownloads(() => new Promise(() => {}), { UPSTREAM_HEADERS_TIMEOUT_MS: "50" });
    expect((await take({}, `${RUN}/logs`)).status).toBe(504);
  });

  test("fails when the body of an error does not end in time", async () => {
    const env = { UPSTREAM_TIMEOUT_MS: "500" };
    const { take } = await startDownloads(
      () => (response) => {
        response.writeHead(503).write("x");
        const timer = setInterval(() => response.write("x"), 50);
        response.once("close", () => clearInterval(timer));
      },
      env,
    );
    expect((await take({}, `${RUN}/outputs`)).status).toBe(503);
  });

  test.each(Object.entries(LOG_NAMES))("of %s has its own file name", async (id, disposition) => {
    const { take } = await startDownloads(() => ({ text: "one\n" }));
    const { body, headers } = await take({}, `${globalId(id)}/logs`);
    expect([body, headers["content-disposition"]]).toEqual(["one\n", disposition]);
  });

  test.each(["POST", "PUT", "DELETE"])("rejects the method %s", async (method) => {
    const { take, service } = await startDownloads();
    const { status, headers } = await take({}, undefined, method);
    expect([status, headers["allow"]]).toEqual([405, "GET, HEAD"]);
    expect(service.calls()).toEqual([]);
  });
});
