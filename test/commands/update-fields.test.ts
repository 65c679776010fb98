import { describe, expect, test } from "vitest";
import { startWilling } from "../support/any-command.ts";
import { errorsOf } from "../support/errors.ts";
import { onWire } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import type { ProfileName } from "../support/profiles.ts";
import { profileFile } from "../support/tracker.ts";

const UPDATE = `mutation ($input: UpdateRunInput!) {
  updateExperiment(id: "ada.mnist.3", input: $input) { experiment { name tags readme description } }
}`;

const SEND = `mutation ($input: UpdateRunInput!) {
  updateExperiment(id: "ada.mnist.3", input: $input) { __typename }
}`;

const startUpdating = async (profile: string) => {
  const service = await startWilling();
  const gateway = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: profile } });
  return { ...gateway, sent: () => service.seen().map((seen) => [onWire(seen), JSON.parse(seen.body)]) };
};

describe("an update of name, tags and readme", () => {
  test.each([
    [{ name: "a-b_C9" }],
    [{ tags: ["a", "b"] }],
    [{ tags: null }],
    [{ readme: "# Notes\n\n🎉" }],
    [{ description: "d", name: null, tags: [], readme: null }],
  ])("sends %j as it was given, and nothing else", async (input) => {
    const { ask, sent } = await startUpdating("polyaxon-0.4");
    expect(await ask(SEND, { input })).not.toHaveProperty("errors");
    expect(sent()).toEqual([["PATCH ada/mnist/experiments/3/", input]]);
  });

  test.each([["not a slug!"], ["a/b"], ["ä"], [""], ["a\n"]])(
    "with the name %j is BAD_USER_INPUT and sends nothing",
    async (name) => {
      const { ask, sent } = await startUpdating("polyaxon-0.4");
      expect(errorsOf(await ask(UPDATE, { input: { name, tags: ["a"] } }))).toEqual([
        {
          at: "updateExperiment",
          code: "BAD_USER_INPUT",
          message: `input.name: expected letters, digits, - and _, got ${JSON.stringify(name)}`,
        },
      ]);
      expect(sent()).toEqual([]);
    },
  );

  test.each<[ProfileName, string]>([
    ["document", "name"],
    ["document", "tags"],
    ["document", "readme"],
    ["polyaxon-0.2", "readme"],
  ])("to a server by the profile %s that does not take `%s` sends nothing", async (profile, field) => {
    const { ask, sent } = await startUpdating(profile);
    const input = { description: "Best", [field]: field === "tags" ? ["a"] : "a" };
    expect(errorsOf(await ask(UPDATE, { input }))).toEqual([
      {
        at: "updateExperiment",
        code: "CAPABILITY_UNAVAILABLE",
        message: `The server behind this gateway does not offer \`${field}\` as input: it lacks the capability \`UPDATE_${field.toUpperCase()}\`.`,
      },
    ]);
    expect(sent()).toEqual([]);
  });

  test("is sent at the places that the profile names", async () => {
    const profile = { inputs: { update: { name: "title", tags: "meta.labels", readme: "meta.notes" } } };
    const { ask, sent } = await startUpdating(profileFile(JSON.stringify(profile)));
    await ask(SEND, {
      input: { description: "d", name: "n", tags: ["t"], readme: "r" },
    });
    expect(sent()).toEqual([
      [
        "PATCH ada/mnist/experiments/3/",
        { description: "d", title: "n", meta: { labels: ["t"], notes: "r" } },
      ],
    ]);
  });
});
