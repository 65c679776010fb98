import { describe, expect, test } from "vitest";
import { globalId } from "../support/ids.ts";
import {
  EXPERIMENT_ROUTE,
  forbiddenRead,
  recordedReads,
  refusedRead,
  sortedOutcomeOf,
  startRecorded,
  tokensOf020,
} from "../support/recorded-server.ts";
import type { Line } from "../support/replay.ts";

describe("release 0.2.0, who may read", () => {
  test("a server that sees no token answers 200 without a name or 403: both are UNAUTHENTICATED", async () => {
    // The gateway always sends its caller's token: here it reaches a server that overlooks it.
    const overlooked = recordedReads
      .filter(({ headers }) => !("Authorization" in headers))
      .map((line): Line => ({ ...line, headers: { Authorization: `token ${tokensOf020.alice}` } }));
    const { ask, calls } = await startRecorded(overlooked);
    const answer = await ask(
      `{ cluster { uuid } experiment(id: "alice.mnist.1") { name } viewer { username } }`,
    );
    const message = "Authentication credentials were not provided.";
    expect(sortedOutcomeOf(answer)).toEqual({
      data: { viewer: null, experiment: null, cluster: null },
      errors: [
        refusedRead("cluster", "UNAUTHENTICATED", message, "cluster/", 403),
        refusedRead("experiment", "UNAUTHENTICATED", message, EXPERIMENT_ROUTE, 403),
        { at: "viewer", code: "UNAUTHENTICATED", message: "The service says that nobody is signed in." },
      ],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/", "GET cluster/", "GET users/"]);
  });

  test.each([
    ["a token nobody has", "0000", "Invalid token."],
    ["the token of a user who was put out", tokensOf020.carol, "User inactive or deleted."],
  ])("%s is UNAUTHENTICATED, although the server says 403", async (_, sent, message) => {
    const { ask, calls } = await startRecorded();
    const query = `{ experiment(id: "alice.mnist.1") { name } viewer { username } }`;
    expect(sortedOutcomeOf(await ask(query, {}, { token: sent }))).toEqual({
      data: { experiment: null, viewer: null },
      errors: [
        refusedRead("experiment", "UNAUTHENTICATED", message, EXPERIMENT_ROUTE, 403),
        refusedRead("viewer", "UNAUTHENTICATED", message, "users/", 403),
      ],
    });
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/", "GET users/"]);
  });

  test.each(["alice", "root", "bob"] as const)("%s reads what the server shows that person", async (who) => {
    const { ask, calls } = await startRecorded();
    const query = `{
      secret: experiment(id: "alice.quick-start.22") { uniqueName status }
      open: experiment(id: "alice.mnist.1") { name user { username } }
    }`;
    const open = { name: "baseline", user: { username: "alice" } };
    const secret = { uniqueName: "alice.quick-start.22", status: "SUCCEEDED" };
    expect(sortedOutcomeOf(await ask(query, {}, { token: tokensOf020[who] }))).toEqual(
      who === "bob"
        ? { data: { secret: null, open }, errors: [forbiddenRead("secret", EXPERIMENT_ROUTE)] }
        : { data: { secret, open }, errors: [] },
    );
    expect(calls()).toEqual(["GET alice/mnist/experiments/1/", "GET alice/quick-start/experiments/22/"]);
  });

  test("a machine's name costs nothing; its memory, like the cluster, is FORBIDDEN to plain users, and the name stays", async () => {
    const { ask, calls } = await startRecorded();
    const named = await ask(`{ job(id: "alice.mnist.jobs.1") { nodeScheduled { id name } } }`);
    expect(sortedOutcomeOf(named)).toEqual({
      data: {
        job: { nodeScheduled: { id: globalId("Node:node-1"), name: "node-1" } },
      },
      errors: [],
    });
    expect(calls()).toEqual(["GET alice/mnist/jobs/1/"]);

    const measured = await ask(
      `{ cluster { uuid } job(id: "alice.mnist.jobs.1") { name nodeScheduled { name memory } } }`,
    );
    expect(sortedOutcomeOf(measured)).toEqual({
      data: { cluster: null, job: { name: "prep", nodeScheduled: { name: "node-1", memory: null } } },
      errors: [
        {
          ...forbiddenRead("cluster", "cluster/"),
          paths: [["cluster"], ["job", "nodeScheduled", "memory"]],
        },
      ],
    });
    expect(calls()).toEqual(["GET alice/mnist/jobs/1/", "GET alice/mnist/jobs/1/", "GET cluster/"]);
  });
});
