import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { contractRows } from "../support/contract.ts";
import { contentOf, MNIST, openDemo } from "./demo-clock.ts";
import GIVEN from "./endpoints.json" with { type: "json" };

/** Addresses that exist, for the paths of the document. */
const EXAMPLES: readonly (readonly [path: RegExp, example: string])[] = [
  [/\{experiment_id\}\/jobs\/\{id\}/, "42/jobs/22"],
  [/experiments\/\{\w+\}/, "experiments/42"],
  [/(jobs|builds|groups)\/\{\w+\}/, "$1/1"],
  [/\{u\}\/\{p\}/, MNIST],
  [/\{sequence\}/, "3"],
  [/\{username\}/, "grace"],
];

/** Requests that need another record, such as stopping one that runs, and the bodies to send. */
const OTHERS: Readonly<Record<string, string>> = GIVEN.others;
const BODIES: Readonly<Record<string, unknown>> = GIVEN.bodies;

describe("the demo's endpoints:", () => {
  test.each(contractRows)("$row responds as documented, with and without a trailing slash", async (row) => {
    const { ask } = await openDemo({ lists: false });
    const path =
      OTHERS[row.mutation ?? ""] ??
      EXAMPLES.reduce((filled, [pattern, example]) => filled.replace(pattern, example), row.path);
    const answer = await ask(`${row.method} ${path}`, BODIES[row.mutation ?? ""]);
    expect([answer.status, contentOf(answer)]).toEqual([row.status, row.content]);
    if (row.method !== "GET") return;
    const other = path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
    expect(await ask(`GET ${other}`)).toEqual(answer);
  });

  test.each([
    ["GET ada", 404],
    [`GET ${MNIST}/experiments`, 404],
    [`GET ${MNIST}/jobs/1/outputs/download`, 404],
    ["POST superusers/revoke/grace/", 405],
  ])("%s is unknown to a service with documented endpoints only", async (line, status) => {
    const { ask } = await openDemo({ lists: false });
    expect((await ask(line)).status).toBe(status);
  });

  test.each(GIVEN.lacks)(
    "list rows of $kind omit the same keys as release 0.4.4",
    async ({ kind, lacks }) => {
      const { ask } = await openDemo();
      await ask(`POST ${MNIST}/${kind}/1/bookmark/`);
      const record = (await ask(`GET ${MNIST}/${kind}/1/`)).json;
      const [row] = (await ask(`GET ${MNIST}/${kind}?query=id:1`)).json.results;
      const [marked] = (await ask(`GET bookmarks/ada/${kind}?limit=1`)).json.results;
      const missing = Object.keys(record).filter((key) => !(key in row));
      expect(missing.toSorted()).toEqual(lacks.split(" "));
      expect(record).toMatchObject(row);
      const { bookmarked, ...others } = row;
      expect([bookmarked, marked]).toEqual([true, { content_object: others }]);
    },
  );

  test.each(GIVEN.signIns)(
    "$case gets the real service's response",
    async ({ authorization, status, json }) => {
      const { demo } = await openDemo();
      const headers = authorization && {
        authorization: authorization.replace(/TOKEN$/, demo.users[0]?.token ?? ""),
      };
      const response = await fetch(`${demo.url}/api/v1/users/`, headers ? { headers } : {});
      expect([response.status, await response.json()]).toMatchObject([status, json]);
    },
  );

  test("refuses bodies that are too long or not JSON, and keeps serving", async () => {
    const { demo, ask } = await openDemo();
    const post = (body: string, type: string) =>
      fetch(`${demo.url}/api/v1/users/token/`, { method: "POST", headers: { "content-type": type }, body });
    expect((await post("grace", "text/plain")).status).toBe(415);
    expect((await post(`"${"x".repeat(1_048_576)}"`, "application/json")).status).toBe(413);
    expect((await ask("GET users/")).status).toBe(200);
  });

  test.each([
    ["experiments", "gzip"],
    ["experiments/42/metrics", "gzip"],
    ["jobs", null],
  ])("%s use the service's content coding, whatever the caller accepts: %s", async (path, encoding) => {
    const { demo } = await openDemo();
    const response = await fetch(`${demo.url}/api/v1/${MNIST}/${path}`, {
      headers: { authorization: `token ${demo.users[0]?.token}`, "accept-encoding": "identity" },
    });
    expect(await response.json()).toHaveProperty("results");
    expect(response.headers.get("content-encoding")).toBe(encoding);
  });

  test("outputs are an archive whose download can be resumed", async () => {
    const { demo } = await openDemo();
    const load = (headers: Record<string, string> = {}) =>
      fetch(`${demo.url}/api/v1/${MNIST}/experiments/42/outputs`, {
        headers: { authorization: `token ${demo.users[0]?.token}`, ...headers },
      });
    const whole = await load();
    const bytes = Buffer.from(await whole.arrayBuffer());
    const files = execFileSync("tar", ["-tz"], { input: bytes, encoding: "utf8" });
    expect(files.split("\n")).toEqual(
      expect.arrayContaining(["ada_mnist_42/metrics.csv", "ada_mnist_42/README.txt"]),
    );
    expect(whole.headers.get("content-length")).toBe(String(bytes.length));
    const rest = await load({ range: "bytes=100-", "if-range": whole.headers.get("etag") ?? "" });
    expect([rest.status, rest.headers.get("content-range")]).toEqual([
      206,
      `bytes 100-${bytes.length - 1}/${bytes.length}`,
    ]);
    expect(Buffer.from(await rest.arrayBuffer())).toEqual(bytes.subarray(100));
    expect((await load({ range: "bytes=100-", "if-range": '"another"' })).status).toBe(200);
    expect((await load({ range: `bytes=${bytes.length}-` })).status).toBe(416);
  });
});
