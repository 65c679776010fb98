import { describe, expect, test } from "vitest";
import { startWilling } from "../support/any-command.ts";
import { everyNth } from "../support/cases.ts";
import { type Command, commands, idOf } from "../support/commands.ts";
import { codesOf } from "../support/errors.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

/** The type of its payload, which follows from its kind. */
function payloadOf({ name, kind }: Command): string {
  const own = `${name.charAt(0).toUpperCase()}${name.slice(1)}Payload`;
  if (name.startsWith("delete")) return kind ? "DeletedRun" : "DeletePayload";
  if (["login", "activateUser", "createExperimentMetric", `stop${kind}`].includes(name)) return own;
  return `${kind ?? "User"}Payload`;
}

describe("every writing row of the service's document has its mutation:", () => {
  test.each(commands.map((command) => [command.row, command.name, command] as const))(
    "%s is %s",
    async (_, name, command) => {
      const { mutation, path, body } = command;
      const byId = mutation.replace(/id: "[^"]+"/, `id: "${idOf(command)}"`);
      const service = await startWilling();
      const { ask } = await startGateway({ upstream: service, token: "t0ken" });
      const payload = { __typename: payloadOf(command) };
      for (const spelled of [mutation, byId]) {
        expect(await ask(`mutation { done: ${spelled} { __typename } }`)).toEqual({
          data: { done: payload },
        });
      }
      const seen = service.seen().map(({ headers, body: sent, ...request }) => ({
        method: request.method,
        path: request.path,
        authorization: headers["authorization"],
        contentType: headers["content-type"],
        body: sent === "" ? undefined : JSON.parse(sent),
      }));
      const expected = {
        method: command.method,
        path: `/api/v1/${path}`,
        authorization: name === "login" ? undefined : "token t0ken",
        contentType: body && "application/json",
        body,
      };
      expect(seen).toEqual([expected, expected]);
    },
  );
});

describe("an id that does not name a record of the mutation's kind is BAD_USER_INPUT and sends nothing:", () => {
  const aimed = commands.filter((command) => command.kind);

  const kinds = ["Experiment", "Job", "BuildJob", "Group", "Project"];
  const others = ["ExperimentJob:ada/mnist/3/1", "MetricRecord:ada/mnist/3/9", "User:ada"];

  test.each(aimed.map((command, turn) => [command.name, command, turn] as const))(
    "%s",
    async (_, command, turn) => {
      const otherKinds = kinds.filter((kind) => kind !== command.kind).map((kind) => `${kind}:ada/mnist/3`);
      const outside = ["../3", "three"].map((number) => `${command.kind}:ada/mnist/${number}`);
      const isByNumber = ["Experiment", "Group"].includes(`${command.kind}`);
      const wrong = [
        ...[...otherKinds, ...others, ...outside].map((address) => globalId(address)),
        ...(isByNumber ? ["ada.mnist.jobs.5", "ada.mnist.builds.7"] : ["ada.mnist.3"]),
        ...",3,ada.mnist,ada..3,ada.mnist.x,../users.token.3,ada.mnist.-3".split(","),
      ];
      const service = await startWilling();
      const { ask } = await startGateway({ upstream: service });
      for (const id of everyNth(wrong, 5, turn)) {
        const mutation = command.mutation.replace(/id: "[^"]+"/, "id: $id");
        const answer = await ask(`mutation ($id: ID!) { done: ${mutation} { __typename } }`, { id });
        expect({ id, data: answer.data, codes: codesOf(answer) }).toEqual({
          id,
          data: { done: null },
          codes: ["BAD_USER_INPUT"],
        });
      }
      expect(service.seen()).toEqual([]);
    },
  );
});

test("without a caller's token every mutation but login is UNAUTHENTICATED and sends nothing", async () => {
  const service = await startWilling();
  const { ask } = await startGateway({ upstream: service, token: null });
  for (const command of commands) {
    const answer = await ask(`mutation { done: ${command.mutation} { __typename } }`);
    const expected =
      command.name === "login"
        ? { data: { done: { __typename: "LoginPayload" } }, codes: [] }
        : { data: { done: null }, codes: ["UNAUTHENTICATED"] };
    expect({ data: answer.data, codes: codesOf(answer) }).toEqual(expected);
  }
  expect(service.inOrder()).toEqual(["POST users/token/"]);
});
