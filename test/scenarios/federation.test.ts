import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { globalId } from "../support/ids.ts";
import HOSTILE from "./hostile-representations.json" with { type: "json" };
import NAMED from "./representations.json" with { type: "json" };

/** Asks for entities as a router does. */
const entities = (selection: string) =>
  `query Router($representations: [_Any!]!) { _entities(representations: $representations) { __typename ${selection} } }`;

interface Entities {
  readonly _entities: readonly (Record<string, unknown> | null)[];
}

describe("representations", () => {
  test("are found by global ids or by names", async () => {
    const { ask, calls } = await startDemoGateway();
    const selection = `
      ... on Run { id uniqueName }
      ... on ExperimentJob { id uniqueName }
      ... on Project { id uniqueName }
      ... on User { id username }
      ... on Node { id name }
      ... on Cluster { id }`;
    const byName = await ask<Entities, object>(entities(selection), {
      representations: NAMED.map(({ type, key, name }) => ({ __typename: type, [key]: name })),
    });
    expect(byName).toEqual({
      data: { _entities: NAMED.map(({ type, key, name, id }) => ({ __typename: type, id, [key]: name })) },
    });
    // A record is read only if the address does not contain the name. Another subgraph writes the key, so the key is not trusted.
    expect(calls()).toEqual(["GET ada/mnist/experiments/42/", "GET ada/mnist/experiments/42/jobs/22/"]);

    const byId = await ask<Entities, object>(entities("... on Entity { id }"), {
      representations: [
        ...NAMED.map(({ type, id }) => ({ __typename: type, id })),
        { __typename: "Cluster", id: globalId("Cluster:") },
      ],
    });
    expect(byId.data._entities.map((each) => each?.["id"])).toEqual([
      ...NAMED.map(({ id }) => id),
      globalId("Cluster:"),
    ]);
    expect(calls()).toEqual([]);
  });

  test.each(["_entities", "batch0: _entities"])(
    "of the same missing record each get an error: %s",
    async (field) => {
      const { ask } = await startDemoGateway();
      const experiment = { __typename: "Experiment", uniqueName: "ada.mnist.4242" };
      const { errors } = await ask<Entities, object>(
        entities("... on Experiment { status }").replace("_entities", field),
        { representations: [experiment, experiment] },
      );
      const [name] = field.split(":");
      expect(errors?.map(({ path, extensions }) => [path, extensions["code"]])).toEqual([
        [[name, 0], "NOT_FOUND"],
        [[name, 1], "NOT_FOUND"],
      ]);
    },
  );

  test.each(HOSTILE)(
    "refuse $case without a request, but resolve other representations",
    async ({ hostile, message }) => {
      const { ask, calls } = await startDemoGateway();
      const { data, errors } = await ask<Entities, object>(
        entities("... on Run { status } ... on User { email } ... on Node { memory }"),
        { representations: [hostile, { __typename: "Job", uniqueName: "ada.mnist.jobs.2" }] },
      );
      expect(data._entities).toEqual([null, { __typename: "Job", status: "RUNNING" }]);
      expect(errors).toMatchObject([{ path: ["_entities", 0], extensions: { code: "BAD_USER_INPUT" } }]);
      expect(errors?.[0]?.message).toContain(message);
      expect(calls()).toEqual(["GET ada/mnist/jobs/2/"]);
    },
  );

  test("are refused if there are more than a thousand", async () => {
    const { ask, calls } = await startDemoGateway();
    const representations = Array.from({ length: 1_001 }, () => ({ __typename: "User", username: "ada" }));
    const { data, errors } = await ask<Entities | null, object>(entities(""), { representations });
    expect(data).toBeNull();
    expect(errors).toMatchObject([
      { message: "representations: expected 0 to 1000, got 1001", extensions: { code: "BAD_USER_INPUT" } },
    ]);
    expect(calls()).toEqual([]);
  });
});
