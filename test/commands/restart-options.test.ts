import { describe, expect, test } from "vitest";
import { startWilling } from "../support/any-command.ts";
import { errorsOf } from "../support/errors.ts";
import { onWire } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import type { ProfileName } from "../support/profiles.ts";

const RESTART = `mutation ($input: RestartExperimentInput) {
  restartExperiment(id: "ada.mnist.3", input: $input) { __typename }
}`;

const startRestarting = async (profile: ProfileName) => {
  const service = await startWilling();
  const gateway = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: profile } });
  return { ...gateway, sent: () => service.seen().map((seen) => [onWire(seen), seen.body]) };
};

const PATH = "POST ada/mnist/experiments/3/restart/";

describe("the options of a restart", () => {
  test.each([
    [{ description: "again" }, { description: "again" }],
    [{ declarations: { lr: 0.5, act: "relu" } }, { config: { declarations: { lr: 0.5, act: "relu" } } }],
    [{ declarations: {} }, { config: { declarations: {} } }],
    [{ updateCode: false }, { update_code: false }],
    [
      { description: "", declarations: { a: [1] }, updateCode: true },
      { description: "", config: { declarations: { a: [1] } }, update_code: true },
    ],
    [{ description: "again", declarations: null, updateCode: null }, { description: "again" }],
  ])("%j are sent as %j", async (input, body) => {
    const { ask, sent } = await startRestarting("polyaxon-0.4");
    expect(await ask(RESTART, { input })).not.toHaveProperty("errors");
    expect(sent().map(([line, text]) => [line, JSON.parse(text ?? "")])).toEqual([[PATH, body]]);
  });

  test.each([[undefined], [null], [{}], [{ description: null }]])(
    "%j is a restart without a body, which every server takes",
    async (input) => {
      const { ask, sent } = await startRestarting("document");
      expect(await ask(RESTART, { input })).not.toHaveProperty("errors");
      expect(sent()).toEqual([[PATH, ""]]);
    },
  );

  test("with declarations that are nested too deeply are BAD_USER_INPUT, and nothing is started", async () => {
    const { ask, sent } = await startRestarting("polyaxon-0.4");
    let deep: unknown = {};
    for (let level = 1; level <= 200; level++) deep = { deep };
    expect(errorsOf(await ask(RESTART, { input: { declarations: deep } }))).toMatchObject([
      {
        code: "BAD_USER_INPUT",
        message: expect.stringContaining("JSON: expected at most 200 levels of nesting, got more"),
      },
    ]);
    expect(sent()).toEqual([]);
  });

  test.each([
    ["list", [1]],
    ["string", "lr=1"],
    ["number", 7],
  ])("with a %s as declarations are BAD_USER_INPUT, and nothing is started", async (got, declarations) => {
    const { ask, sent } = await startRestarting("polyaxon-0.4");
    const message = `input.declarations: expected an object of names and values, got a ${got}`;
    expect(errorsOf(await ask(RESTART, { input: { declarations } }))).toMatchObject([{ message }]);
    expect(sent()).toEqual([]);
  });

  test.each(["description", "declarations", "updateCode"])(
    "are CAPABILITY_UNAVAILABLE on a server that takes none, and nothing is started: %s",
    async (field) => {
      const { ask, sent } = await startRestarting("document");
      const values = { description: "a", declarations: {}, updateCode: false };
      const input = { [field]: Reflect.get(values, field) };
      expect(errorsOf(await ask(RESTART, { input }))).toMatchObject([
        {
          code: "CAPABILITY_UNAVAILABLE",
          message: expect.stringContaining(`does not offer \`${field}\` as input`),
        },
      ]);
      expect(sent()).toEqual([]);
    },
  );
});
