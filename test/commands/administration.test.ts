import { describe, expect, test } from "vitest";
import { AdministrationDocument } from "../generated/graphql.ts";
import { startWilling } from "../support/any-command.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { codesOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";

describe("after the administration of a user", () => {
  test("a user's details are known of the caller only, as they are afterwards", async () => {
    const service = await startFake(({ method }) =>
      method === "GET"
        ? { json: { username: "ada", email: "ada@example.com", is_superuser: false } }
        : { text: "" },
    );
    const { ask } = await startGateway({ upstream: service });
    const of = (username: string) =>
      ask(`mutation { revokeSuperuser(username: "${username}") { user { username isSuperuser isViewer } } }`);
    expect(await of("ada")).toEqual({
      data: { revokeSuperuser: { user: { username: "ada", isSuperuser: false, isViewer: true } } },
    });
    expect(await of("grace")).toEqual({
      data: { revokeSuperuser: { user: { username: "grace", isSuperuser: null, isViewer: false } } },
    });
    expect(service.inOrder()).toEqual([
      "DELETE superusers/revoke/ada/",
      "GET users/",
      "DELETE superusers/revoke/grace/",
      "GET users/",
    ]);
  });
});

describe("a name of a user that could leave its path is BAD_USER_INPUT and sends nothing", () => {
  test.each(["activateUser", "deleteUser", "grantSuperuser", "revokeSuperuser"])("%s", async (name) => {
    const wrong = [
      "",
      ".",
      "..",
      "a/b",
      "../token",
      "a?b",
      "a#b",
      "a%2fb",
      "a b",
      "a\n",
      "\u202e",
      "x".repeat(201),
    ];
    const service = await startWilling();
    const { ask } = await startGateway({ upstream: service });
    for (const username of wrong) {
      const answer = await ask(
        `mutation ($username: String!) { done: ${name}(username: $username) { __typename } }`,
        { username },
      );
      expect({ username, data: answer.data, codes: codesOf(answer) }).toEqual({
        username,
        data: { done: null },
        codes: ["BAD_USER_INPUT"],
      });
    }
    expect(service.seen()).toEqual([]);
  });
});

describe("the administration of users", () => {
  test("of the demo: three commands, and one look at who the caller is", async () => {
    const { ask, demo } = await startDemoGateway();
    const answer = await ask(AdministrationDocument, {
      newcomer: "margaret",
      admin: "grace",
      leaver: "linus",
    });
    const of = (username: string) => globalId(`User:${username}`);
    expect(answer).toEqual({
      data: {
        activateUser: { user: { id: of("margaret"), username: "margaret" } },
        grantSuperuser: { user: { id: of("grace"), username: "grace", isSuperuser: null } },
        deleteUser: { deletedId: of("linus"), deletedUsername: "linus" },
      },
    });
    expect(demo.calls()).toEqual([
      "POST /api/v1/users/activate/margaret/",
      "POST /api/v1/superusers/grant/grace/",
      "GET /api/v1/users/",
      "DELETE /api/v1/users/delete/linus/",
    ]);
  });
});
