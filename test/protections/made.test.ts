import { describe, expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { firstCodeOf } from "../support/one-read.ts";
import { askInPieces } from "../support/pieces.ts";

const MANY_FILES = Array.from({ length: 4_000 }, (_, index) => [`${index}`, index]);

const times = (count: number, part: string) => Array.from({ length: count }, () => part).join(" ");

describe("what an operation makes counts against MAX_UPSTREAM_BYTES, beside what it has read:", () => {
  async function start() {
    const rowOf = (id: number) => ({ id, name: "run", original: `ada.mnist.${id + 1_000}` });
    const rows = Array.from({ length: 100 }, (_, index) => rowOf(index));
    const service = await startFake(({ path }) => {
      if (path.includes("/logs")) return { text: "\n".repeat(5_000) };
      if (path.includes("/outputs/tree")) return { json: { dirs: [], files: MANY_FILES } };
      if (path.includes("/experiments?")) return { json: { count: 100, next: null, results: rows } };
      return { json: { count: 0, next: null, results: [], id: 42, name: "run" } };
    });
    const env = { UPSTREAM_PROFILE: "polyaxon-0.4", MAX_UPSTREAM_BYTES: "100000" };
    return { service, ...(await startGateway({ upstream: service, env })) };
  }

  test.each([
    ["objects that are parsed", '{ experiment(id: "ada.mnist.42") { outputFiles { folders { name } } } }'],
    ["fields and items", '{ experiment(id: "ada.mnist.42") { logs { lines } } }'],
    [
      "reads that are started",
      '{ project(id: "ada.mnist") { experiments(first: 100) { nodes { statuses { totalCount } } } } }',
    ],
  ])("%s", async (_, query) => {
    const { ask } = await start();
    expect(firstCodeOf(await ask(query))).toBe("REQUEST_LIMIT_EXCEEDED");
  });

  test("reads of what a record leads to, before any of them is sent", async () => {
    const { ask, service } = await start();
    const children =
      "statuses { totalCount } jobs { totalCount } codeReference { branch } metrics { totalCount }";
    const query = `{ project(id: "ada.mnist") { experiments(first: 20) { nodes { original { name ${children} } } } } }`;
    expect(firstCodeOf(await ask(query))).toBe("REQUEST_LIMIT_EXCEEDED");
    expect(service.calls()).toEqual(["GET ada/mnist/experiments?limit=20"]);
  });

  test("parts that are delivered later", async () => {
    const { url } = await start();
    const query = `{ experiment(id: "ada.mnist.42") { id ${times(90, "... @defer { name }")} } }`;
    const pieces = await askInPieces(url, { query }, { authorization: "token t0ken" });
    expect(JSON.stringify(pieces)).toContain("REQUEST_LIMIT_EXCEEDED");
  });
});
