import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { globalId } from "../support/ids.ts";
import { joined } from "../support/sharing.ts";
import { latch } from "../support/latch.ts";
import { type Answer, type Gateway, startBefore, startGateway } from "../support/gateway.ts";
import { JSON_BODY, sendTo } from "../support/raw-requests.ts";
import EXPLAINED_REQUESTS from "./explained-requests.json" with { type: "json" };

const EXPLAINED = { headers: { "x-rungraph-explain": "1" } };
const POLYAXON = { UPSTREAM_PROFILE: "polyaxon-0.4" };

interface Explained {
  readonly requests: readonly Record<string, unknown>[];
  readonly reads: Record<string, number>;
  readonly free: { readonly links: number; readonly fields: readonly string[]; readonly moreFields: number };
  readonly totals: Record<string, number>;
}

interface ExplainedAnswer extends Answer<unknown> {
  readonly extensions: { readonly explain: Explained };
}

async function explain({ ask }: Pick<Gateway, "ask">, document: string, variables: object = {}) {
  const answer = (await ask<unknown, object>(document, variables, EXPLAINED)) as ExplainedAnswer;
  return { ...answer.extensions.explain, answer };
}

/** The requests without the values that differ between runs. */
const untimed = ({ requests }: Explained) =>
  requests.map(({ startMs, waitedMs, waitedFor, durationMs, bytes, ...rest }) => {
    expect([startMs, waitedMs, durationMs, bytes]).toEqual(Array(4).fill(expect.any(Number)));
    // On a busy machine the requests of a tick can take a millisecond.
    expect([null, "CONCURRENCY"]).toContain(waitedFor);
    return rest;
  });

/** Sorts the requests, because parallel requests arrive in any order. */
const inOrder = (requests: readonly Readonly<Record<string, unknown>>[]) =>
  requests.toSorted((one, other) =>
    `${one["template"]}${one["fields"]}`.localeCompare(`${other["template"]}${other["fields"]}`),
  );

const OPERATIONS = new URL("../../schema/operations/", import.meta.url);
const readText = (name: string) => readFileSync(new URL(name, OPERATIONS), "utf8");
const variablesOf = JSON.parse(readText("demo-variables.json")) as Record<string, object>;
const OPERATION_FILES = readdirSync(OPERATIONS).filter((name) => name.endsWith(".graphql"));

describe("an explained operation", () => {
  test("lists its upstream requests with the fields that caused them", async () => {
    const gateway = await startDemoGateway({ env: POLYAXON });
    const explained = await explain(
      gateway,
      `{
        group(id: "ada.mnist.1") {
          status
          experiments(first: 2, query: "status:succeeded") {
            nodes { buildJob { commit user { username } } jobs { nodes { nodeScheduled { name } } } }
          }
        }
      }`,
    );
    expect(inOrder(untimed(explained))).toEqual(inOrder(EXPLAINED_REQUESTS));
    expect(explained.reads).toEqual({ request: 5, batch: 0, joined: 0, cache: 0, stale: 0, shared: 1 });
    // Both runs have the same build job, whose owner is a link at each of its paths.
    const links = [0, 1].map((index) => `group.experiments.nodes.${index}.buildJob.user`);
    expect(explained.free).toEqual({ links: 4, fields: expect.arrayContaining(links), moreFields: 1 });
    expect(explained.totals).toMatchObject({ requests: 5, rounds: 2, withoutRungraph: 6 });
  });

  test("names the list for which metrics were requested that no run needs", async () => {
    const { ask } = await startBefore(
      ({ path }) => {
        const isList = /experiments\?|metrics/.test(path);
        return { json: isList ? { count: 0, next: null, results: [] } : { id: 1, group_type: "study" } };
      },
      { ...POLYAXON, EXPLAIN: "on" },
    );
    const { requests, totals } = await explain(
      { ask },
      `{ group(id: "ada.mnist.groups.1") { experiments(first: 2) { nodes { metrics { totalCount } } } } }`,
    );
    expect(totals).toMatchObject({ requests: 3, withoutRungraph: 2 });
    const found = requests.map(({ template, fields, reads }) => `${template} ${fields} ${reads}`);
    expect(found.toSorted()).toEqual([
      "{owner}/{project}/experiments group.experiments 1",
      "{owner}/{project}/groups/{id}/ group 1",
      "{owner}/{project}/groups/{id}/metrics group.experiments 1",
    ]);
  });

  test.each(OPERATION_FILES)("lists each request that the service received: %s", async (file) => {
    for (const profile of ["document", "polyaxon-0.4"]) {
      const gateway = await startDemoGateway({ env: { UPSTREAM_PROFILE: profile } });
      const { requests, totals } = await explain(gateway, readText(file), variablesOf[file]);
      const count = gateway.calls().length;
      expect([profile, requests.length, totals["requests"]]).toEqual([profile, count, count]);
    }
  });

  test("names and counts the fields that one list serves", async () => {
    const gateway = await startDemoGateway({ env: POLYAXON });
    const ids = [40, 41, 42, 43, 4711].map((id) => globalId(`Experiment:ada/mnist/${id}`));
    const explained = await explain(
      gateway,
      "query ($ids: [ID!]!) { entities(ids: $ids) { ... on Experiment { status } } }",
      { ids },
    );
    expect(explained.requests).toMatchObject([
      {
        template: "{owner}/{project}/experiments",
        round: 1,
        fields: ["entities.0", "entities.1", "entities.2"],
        moreFields: 2,
        reads: 5,
      },
      // The list does not contain this record.
      { template: "{owner}/{project}/experiments/{id}/", round: 2, fields: ["entities.4"], reads: 1 },
    ]);
    expect(explained.reads).toMatchObject({ request: 1, batch: 4, shared: 0 });
    expect(explained.totals).toMatchObject({ requests: 2, rounds: 2, withoutRungraph: 5 });
  });

  test("reports reads that were cached or shared with another operation", async () => {
    const answered = latch();
    const service = await startFake(async () => {
      await answered.opened;
      return { json: { id: 3, last_status: "running" } };
    });
    const gateway = await startGateway({
      upstream: service,
      env: { EXPLAIN: "on", CACHE_TTL_MS: "3600000" },
    });
    const document = `{ experiment(id: "ada.mnist.3") { status } }`;
    const [first, second] = [explain(gateway, document), explain(gateway, document)];
    await joined(gateway, 1);
    answered.open();
    const all = [await first, await second, await explain(gateway, document)];
    expect(all.map(({ requests }) => requests.length).toSorted()).toEqual([0, 0, 1]);
    const none = { request: 0, batch: 0, joined: 0, cache: 0, stale: 0, shared: 0 };
    expect(all.map(({ reads }) => reads)).toEqual(
      expect.arrayContaining([
        { ...none, request: 1 },
        { ...none, joined: 1 },
        { ...none, cache: 1 },
      ]),
    );
    expect(all.map(({ totals }) => totals["withoutRungraph"])).toEqual([1, 1, 1]);
  });

  test("counts sequential pages and mutations as separate rounds", async () => {
    const service = await startFake(({ method, path }) => {
      if (method !== "GET") return { json: {} };
      if (!path.includes("/statuses")) return { json: { id: 3, last_status: "running" } };
      const offset = Number(/offset=(\d)/.exec(path)?.[1] ?? 0);
      const next = `http://service.example/?offset=${offset + 1}`;
      return { json: { count: 3, next, results: [{ id: offset, status: "running" }] } };
    });
    const gateway = await startGateway({ upstream: service, env: { EXPLAIN: "on" } });
    const explained = await explain(
      gateway,
      `mutation {
        a: stopExperiment(id: "ada.mnist.3", force: true) { experiment { status } }
        b: stopExperiment(id: "ada.mnist.3", force: true) { experiment { statuses(first: 3) { nodes { status } } } }
      }`,
    );
    expect(explained.requests.map(({ round, fields }) => [round, fields])).toEqual([
      [1, ["a"]],
      [2, ["a.experiment"]],
      [3, ["b"]],
      [4, ["b.experiment.statuses"]],
      [5, ["b.experiment.statuses"]],
      [6, ["b.experiment.statuses"]],
    ]);
    expect(explained.totals).toMatchObject({ rounds: 6, withoutRungraph: 6 });
  });

  test("lists failed attempts with their errors", async () => {
    const reported = [{ json: {}, status: 503, headers: { "retry-after": "1" } }];
    const service = await startFake(() => reported.shift() ?? { json: { detail: "No." }, status: 403 });
    const gateway = await startGateway({ upstream: service, env: { EXPLAIN: "on", UPSTREAM_RETRIES: "1" } });
    const explained = await explain(gateway, `{ experiment(id: "ada.mnist.3") { status } }`);
    expect(explained.answer.errors).toHaveLength(1);
    // The pause before a retry counts.
    expect(explained.requests[1]?.["waitedMs"]).toBeGreaterThan(990);
    expect(explained.requests).toMatchObject([
      { attempt: 1, status: 503, error: "UPSTREAM_UNAVAILABLE", fields: ["experiment"] },
      { attempt: 2, status: 403, error: "FORBIDDEN", fields: ["experiment"] },
    ]);
  });

  test("is explained even if the document, body or parameters are invalid", async () => {
    const gateway = await startDemoGateway();
    for (const document of ["{ nothing }", "{"]) {
      const { answer, requests } = await explain(gateway, document);
      expect([answer.errors?.length, requests]).toEqual([1, []]);
    }
    for (const [method, accept] of [
      ["POST", "application/json"],
      ["POST", "text/event-stream"],
      ["GET", "application/json"],
    ] as const) {
      const headers = { ...JSON_BODY, ...EXPLAINED.headers, accept };
      const sending = { method, headers, ...(method === "POST" && { body: "{" }) };
      const { text } = await sendTo(`${gateway.url}/graphql?variables=x`, sending);
      expect(text).toContain('"extensions":{"explain":{"requests":[]');
    }
  });

  test("has the same explanation by POST, GET and event stream", async () => {
    const { url, demo, ...gateway } = await startDemoGateway();
    const document = `{ experiment(id: "ada.mnist.42") { buildJob { commit } } }`;
    const expected = untimed(await explain(gateway, document));
    expect(expected).toHaveLength(2);
    for (const accept of ["application/json", "text/event-stream"]) {
      const headers = { ...EXPLAINED.headers, accept, authorization: `token ${demo.users[0]?.token}` };
      const address = `${url}/graphql?query=${encodeURIComponent(document)}`;
      const [json = ""] = /\{"data".*/.exec((await sendTo(address, { method: "GET", headers })).text) ?? [];
      expect(untimed((JSON.parse(json) as ExplainedAnswer).extensions.explain)).toEqual(expected);
    }
  });

  test("reveals no host, token, id or variable, and truncates long aliases", async () => {
    const { demo, ...gateway } = await startDemoGateway({ env: POLYAXON });
    const alias = "a".repeat(5_000);
    const explained = await explain(
      gateway,
      `query ($id: ID!) { ${alias}: experiment(id: $id) { buildJob { commit } statuses { totalCount } } }`,
      { id: "ada.mnist.42" },
    );
    expect(explained.requests).toHaveLength(3);
    expect(explained.requests).toContainEqual(
      expect.objectContaining({ fields: [`${alias.slice(0, 200)}…`] }),
    );
    const { answer: _, ...report } = explained;
    const text = JSON.stringify(report);
    for (const secret of ["127.0.0.1", "mnist", "42", demo.users[0]?.token ?? "", new URL(demo.url).port])
      expect(text.replaceAll(/"(?:startMs|waitedMs|durationMs|bytes)":[\d.]+/g, "")).not.toContain(secret);
  });
});

test("explains operations on request if EXPLAIN is on, the demo's default", async () => {
  const isExplained = async ({ ask }: Gateway, headers: Record<string, string> = EXPLAINED.headers) =>
    "extensions" in (await ask("{ __typename }", {}, { headers }));
  const [demo, upstream] = [await startDemoGateway(), await startFake(() => undefined)];
  expect([
    await isExplained(demo),
    await isExplained(demo, {}),
    await isExplained(demo, { "x-rungraph-explain": "0" }),
    await isExplained(await startDemoGateway({ env: { EXPLAIN: "off" } })),
    await isExplained(await startGateway({ upstream })),
    await isExplained(await startGateway({ upstream, env: { EXPLAIN: "on" } })),
  ]).toEqual([true, false, false, false, false, true]);
});
