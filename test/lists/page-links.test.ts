import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cases } from "../support/cases.ts";
import { tokenOf } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { startProfile } from "../support/profiles.ts";
import { runListOperation, runPageIn } from "../support/run-lists.ts";

/** A list of `length` jobs whose server gives at most `most` of them at a time, and whose links lead astray. */
async function startLongList() {
  const list = { length: 0, most: 20 };
  const service = await startFake(({ path }) => {
    const { searchParams } = new URL(path, "http://service");
    const offset = Number(searchParams.get("offset") ?? 0);
    const limit = Math.min(Number(searchParams.get("limit") ?? 20), list.most);
    const ids = Array.from({ length: list.length }, (_, index) => index + 1).slice(offset, offset + limit);
    return {
      json: {
        count: list.length,
        next: "http://elsewhere.example/api/v1/users/?offset=7&limit=1&token=t0ken",
        previous: null,
        results: ids.map((id) => ({ id })),
      },
    };
  });
  const gateway = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.2" } });
  return { ...gateway, list, calls: service.calls };
}

describe("page links are computed, never followed", () => {
  test("wherever they lead, the next request goes on where the page ended", async () => {
    const { ask, list, calls } = await startLongList();
    list.length = 45;
    const page = runPageIn(await ask(runListOperation("Project.jobs"), { first: 45 }));
    expect(page.keys).toEqual(Array.from({ length: 45 }, (_, index) => `${index + 1}`));
    expect(page.hasNextPage).toBe(false);
    expect(calls()).toEqual([
      "GET ada/mnist/jobs?limit=25&offset=20",
      "GET ada/mnist/jobs?limit=45",
      "GET ada/mnist/jobs?limit=5&offset=40",
    ]);
  });

  test("a cursor from before the profile was set goes on where it ended", async () => {
    const { ask, calls, demo } = await startProfile("document");
    const statuses = `query ($after: String) { thing: experiment(id: "ada.mnist.42") {
      page: statuses(first: 2, after: $after) { nodes { key: rawStatus } totalCount pageInfo { hasNextPage endCursor } }
    } }`;
    const first = runPageIn(await ask(statuses, {}));
    expect(first).toMatchObject({ keys: ["created", "building"], hasNextPage: true });
    calls();
    const later = await startGateway({
      upstream: demo,
      token: tokenOf(demo, "ada"),
      env: { UPSTREAM_PROFILE: "polyaxon-0.4" },
    });
    const second = runPageIn(await later.ask(statuses, { after: first.endCursor }));
    expect(second).toMatchObject({ keys: ["scheduled", "starting"], hasNextPage: true });
    expect(calls()).toEqual(["GET ada/mnist/experiments/42/statuses?limit=2&offset=2"]);
  });

  test("a walk gives every item once and in order, in steps of any size, however little the server gives", async () => {
    const { ask, list } = await startLongList();
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 70 }),
        fc.integer({ min: 1, max: 30 }),
        fc.option(fc.integer({ min: 1, max: 40 })),
        async (length, most, first) => {
          Object.assign(list, { length, most });
          const keys: string[] = [];
          let after: string | null = null;
          let hasNextPage = true;
          while (hasNextPage) {
            const page = runPageIn(await ask(runListOperation("Project.jobs"), { first, after }));
            expect(page.totalCount).toBe(length);
            keys.push(...page.keys);
            ({ hasNextPage, endCursor: after } = page);
          }
          expect(keys).toEqual(Array.from({ length }, (_, index) => `${index + 1}`));
        },
      ),
      { numRuns: cases(10, 40) },
    );
  });
});
