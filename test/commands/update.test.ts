import { describe, expect, test } from "vitest";
import { refused } from "../support/any-command.ts";
import { commandCalled } from "../support/commands.ts";
import { failure, outcomeOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";

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

describe("an update", () => {
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
});
