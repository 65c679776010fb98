import { describe, expect, test } from "vitest";
import { AdministrationDocument } from "../generated/graphql.ts";
import { startWilling } from "../support/any-command.ts";
import { commandCalled, commands, routeOf } from "../support/commands.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { codesOf, failure, outcomeOf } from "../support/errors.ts";
import { allFail, sendEach, sortedCalls } from "../support/failing-commands.ts";
import { startFake, type Told } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { detail, html } from "../support/replies.ts";

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

describe("a user who cannot be read after a command is one error:", () => {
  const crashed = (at: string, route: string) =>
    failure(at, "UPSTREAM_ERROR", "The service answered 500.", {
      upstream: { method: "GET", route, status: 500 },
    });

  /** A service that takes commands and fails at reading. */
  const startUnreadable = () =>
    startFake(({ method }) => (method === "GET" ? html(500) : { json: { id: 77, values: { loss: 0.5 } } }));

  test("grantSuperuser: the user's name is there", async () => {
    const { ask } = await startGateway({ upstream: await startUnreadable() });
    const { mutation } = commandCalled("grantSuperuser");
    const answer = await ask(`mutation { done: ${mutation} { user { username isSuperuser } } }`);
    expect(outcomeOf(answer)).toEqual({
      data: { done: { user: { username: "linus", isSuperuser: null } } },
      errors: [crashed("done.user.isSuperuser", "users/")],
    });
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
  const administration = commands.filter(({ kind, name }) => kind === null && name !== "login");

  test("takes the superuser role away as the document says, with DELETE", async () => {
    const service = await startFake(() => ({ text: "" }));
    const { ask } = await startGateway({ upstream: service });
    expect(await ask(`mutation { revokeSuperuser(username: "grace") { user { username } } }`)).toEqual({
      data: { revokeSuperuser: { user: { username: "grace" } } },
    });
    expect(service.inOrder()).toEqual(["DELETE superusers/revoke/grace/"]);
  });

  test.each([
    ["405 with JSON", detail(405, `Method "DELETE" not allowed.`), 405],
    ["405 with an empty page", html(405, ""), 405],
    ["404 with a page", html(404), 404],
  ] satisfies [string, Told, number][])(
    "is UPSTREAM_UNSUPPORTED where the server answers %s, and the row is named",
    async (_, told, status) => {
      const service = await startFake(() => told);
      const expected = administration.map((command) => {
        const [method, route] = [command.method, routeOf(command)];
        const message = `This server does not offer ${method} ${route}, or failed at it.`;
        return allFail([command], "UPSTREAM_UNSUPPORTED", message, { status })[0];
      });
      expect(await sendEach(service.url, administration)).toEqual(expected);
      expect(service.calls()).toEqual(sortedCalls(administration));
    },
  );

  test("is NOT_FOUND where the user is not there, and FORBIDDEN to those who may not", async () => {
    const missing = await startFake(() => detail(404, "Not found."));
    expect(await sendEach(missing.url, administration)).toEqual(
      allFail(administration, "NOT_FOUND", "Not found.", { status: 404 }),
    );
    const message = "You do not have permission to perform this action.";
    const closed = await startFake(() => detail(403, message));
    expect(await sendEach(closed.url, administration)).toEqual(
      allFail(administration, "FORBIDDEN", message, { status: 403 }),
    );
  });

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
