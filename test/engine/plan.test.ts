import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { callsOf, startDemoService, still, tokenOf } from "../support/demo-gateway.ts";
import { startGateway } from "../support/gateway.ts";
import { listen } from "../support/listen.ts";
import { operation, VARIABLES } from "../support/random-operations.ts";
import { referencePlanner } from "../support/reference-planner.ts";

/** Where random operations begin: also at what does not exist, and at what cannot be read. */
const ROOTS: readonly (readonly [field: string, type: string])[] = [
  ['experiment(id: "ada.mnist.42")', "Experiment"],
  ['experiment(id: "ada.mnist.999999")', "Experiment"],
  ['experiment(id: "ada.mnist.1.9")', "Experiment"],
  ['job(id: "ada.mnist.jobs.1")', "Job"],
  ['job(id: "not a name")', "Job"],
  ['buildJob(id: "ada.mnist.builds.1")', "BuildJob"],
  ['group(id: "ada.mnist.1")', "Group"],
  ['entity(id: "RXhwZXJpbWVudDphZGEvbW5pc3QvNDI")', "Experiment"],
  ['entities(ids: ["RXhwZXJpbWVudDphZGEvbW5pc3QvNDI", "?", "Sm9iOmFkYS9tbmlzdC8x"])', "Experiment"],
  ['run(id: "Sm9iOmFkYS9tbmlzdC8x")', "Job"],
  ['node(name: "node-1")', "Node"],
  ["node(sequence: 2)", "Node"],
  ["cluster", "Cluster"],
  ["viewer", "User"],
  ['project(owner: "ada", name: "mnist")', "Project"],
  ['project(owner: "ada", name: "a b")', "Project"],
];

/** What answers differently from one moment to the next. */
const LEFT_OUT = new Set(["durationSeconds", "ExperimentJob.logs"]);

const BROKEN: readonly (readonly [status: number, body: string])[] = [
  [404, '{"detail":"Not found."}'],
  [403, '{"detail":"You may not."}'],
  [500, "<h1>Server Error</h1>"],
  [200, '{"id":"no number","results":[null,1]}'],
  [200, "[]"],
];

/** A service in front of another, at which some addresses fail, always the same ones and in the same way. */
async function startBroken(service: string, share: number): Promise<{ url: string }> {
  const url = await listen(async (request, response) => {
    const [first = 0, second = 0] = createHash("sha256")
      .update(request.url ?? "")
      .digest();
    if (first < share * 256) {
      const [status, body] = BROKEN[second % BROKEN.length] ?? [500, ""];
      response.writeHead(status, { "content-type": "application/json" }).end(body);
      return;
    }
    const { authorization = "" } = request.headers;
    const answer = await fetch(`${service}${request.url}`, { headers: { authorization } });
    const body = Buffer.from(await answer.arrayBuffer());
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" }).end(body);
  });
  return { url };
}

/** The text of an answer without what differs from one request to the next. */
const comparable = (answer: object): string =>
  JSON.stringify(answer)
    .replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "")
    .replaceAll(/"requestId":"[^"]*"/g, '"requestId":""');

test.each([0, 0.1, 0.5])(
  "an operation is answered as graphql-js answers it, to the byte, when %d of the service's addresses fail",
  async (share) => {
    const demo = await startDemoService({ now: still });
    const upstream = await startBroken(demo.url, share);
    const given = { upstream, token: tokenOf(demo, "ada"), env: { MAX_DEPTH: "30" } };
    const planned = await startGateway(given);
    const reference = await startGateway({ ...given, planner: referencePlanner });
    const material = { roots: ROOTS, leftOut: LEFT_OUT, depth: 4 };

    await fc.assert(
      fc.asyncProperty(operation(material), async (document) => {
        const answer = await planned.ask<object, object>(document, VARIABLES);
        const calls = callsOf(demo);
        const expected = await reference.ask<object, object>(document, VARIABLES);
        const expectedCalls = callsOf(demo);
        expect(comparable(answer)).toBe(comparable(expected));
        expect(calls).toEqual(expectedCalls);
      }),
      { numRuns: cases(25, 300) },
    );
  },
);
