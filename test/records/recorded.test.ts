import { expect, test } from "vitest";
import { startGateway } from "../support/gateway.ts";
import { readRecording, startReplay } from "../support/replay.ts";

// Records of release 0.4.4 one by one: test/recorded/exchanges.test.ts.

test("rows of an owner's projects need one request; the readme of each needs another", async () => {
  const upstream = await startReplay(readRecording("0.4.4-beyond"));
  const env = { UPSTREAM_PROFILE: "polyaxon-0.4" };
  const { ask } = await startGateway({ upstream, token: "b".repeat(64), env });
  const projects = (fields: string) =>
    ask(`{ user(username: "alice") { projects(first: 2) { nodes { name ${fields} } } } }`);
  expect(await projects("description tags isPublic createdAt")).toMatchObject({
    data: {
      user: {
        projects: {
          nodes: [
            { name: "quick-start", description: null, tags: null, isPublic: false },
            { name: "mnist", tags: ["vision", "mnist"], isPublic: true },
          ],
        },
      },
    },
  });
  expect(upstream.calls()).toEqual(["GET alice?limit=2"]);
  // The other project was not recorded.
  const nodes = [{ readme: null }, { readme: "# MNIST\n\nrun *me* — ünïcode 🎉", jobCount: 5 }];
  expect(await projects("readme jobCount")).toMatchObject({ data: { user: { projects: { nodes } } } });
  expect(upstream.calls().slice(0, 2)).toEqual(["GET alice/mnist", "GET alice/quick-start"]);
});
