import { describe, expect, test } from "vitest";
import { refused, startWilling } from "../support/any-command.ts";
import { commandCalled } from "../support/commands.ts";
import { failure, outcomeOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { html } from "../support/replies.ts";

describe("what is selected of an updated record costs no read:", () => {
  test("an update reads nothing: its answer is the record", async () => {
    const service = await startFake(() => ({
      json: { id: 3, unique_name: "ada.mnist.3", description: "Best", last_status: "running", tags: ["a"] },
    }));
    const { ask } = await startGateway({ upstream: service });
    const { mutation } = commandCalled("updateExperiment");
    expect(
      await ask(`mutation { done: ${mutation} { experiment { uniqueName description status tags } } }`),
    ).toEqual({
      data: {
        done: {
          experiment: { uniqueName: "ada.mnist.3", description: "Best", status: "RUNNING", tags: ["a"] },
        },
      },
    });
    expect(service.inOrder()).toEqual(["PATCH ada/mnist/experiments/3/"]);
  });
});

describe("a record that cannot be read after its update is one error, and what the answer told is there:", () => {
  const crashed = (at: string, route: string) =>
    failure(at, "UPSTREAM_ERROR", "The service answered 500.", {
      upstream: { method: "GET", route, status: 500 },
    });

  /** A service that takes commands and fails at reading. */
  const startUnreadable = () =>
    startFake(({ method }) => (method === "GET" ? html(500) : { json: { id: 77, values: { loss: 0.5 } } }));

  test("updateExperiment, when its answer lacks what is selected", async () => {
    const { ask } = await startGateway({ upstream: await startUnreadable() });
    const { mutation } = commandCalled("updateExperiment");
    const answer = await ask(
      `mutation { done: ${mutation} { known: experiment { internalId } experiment { description } } }`,
    );
    expect(outcomeOf(answer)).toEqual({
      data: { done: { known: { internalId: "3" }, experiment: { description: null } } },
      errors: [crashed("done.experiment.description", "{owner}/{project}/experiments/{id}/")],
    });
  });
});

describe("an update", () => {
  const update = `mutation ($input: UpdateExperimentInput!) {
    updateExperiment(id: "ada.mnist.3", input: $input) { experiment { id } }
  }`;

  test.each([
    ["a new text", "Best so far"],
    ["an empty one", ""],
    ["null, which clears it", null],
    ["any characters", 'Größe "≤" 3 \\ \n\t🚀 \u0000'],
  ])("sends %s as it was given", async (_, description) => {
    const service = await startWilling();
    const { ask } = await startGateway({ upstream: service });
    expect(await ask(update, { input: { description } })).toHaveProperty(
      "data.updateExperiment.experiment.id",
    );
    expect(service.seen().map(({ body }) => JSON.parse(body))).toEqual([{ description }]);
  });

  test.each(["updateExperiment", "updateJob", "updateBuildJob", "updateGroup"])(
    "%s without anything to change is BAD_USER_INPUT and sends nothing",
    async (name) => {
      const id = /id: "([^"]+)"/.exec(commandCalled(name).mutation)?.[1];
      const { data, errors, seen } = await refused(
        `mutation ($text: String) {
          nothing: ${name}(id: "${id}", input: {}) { __typename }
          omitted: ${name}(id: "${id}", input: { description: $text }) { __typename }
        }`,
      );
      expect(data).toEqual({ nothing: null, omitted: null });
      const message = "input: expected at least one field to change, got none";
      expect(outcomeOf({ data, errors }).errors).toEqual([
        failure("nothing", "BAD_USER_INPUT", message),
        failure("omitted", "BAD_USER_INPUT", message),
      ]);
      expect(seen).toEqual([]);
    },
  );

  test.each([
    ["a number", { description: 5 }],
    ["a list", { description: ["a"] }],
    ["another field", { description: "a", colour: "b" }],
    ["no object", "Best"],
    ["null", null],
  ])("with %s is BAD_USER_INPUT and sends nothing", async (_, input) => {
    const { codes, seen } = await refused(update, { input });
    expect(codes).toEqual(["BAD_USER_INPUT"]);
    expect(seen).toEqual([]);
  });
});
