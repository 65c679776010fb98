import { describe, expect, test } from "vitest";
import { failure, outcomeOf } from "../support/errors.ts";
import { onWire, startFake, type FakeResponse } from "../support/fake.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { readRecording } from "../support/replay.ts";
import { detail, html } from "../support/replies.ts";

describe("login", () => {
  const LOGIN = `login(input: { username: $username, password: $password }) {
    token
    user { id username email isSuperuser }
  }`;
  const login = `mutation ($username: String!, $password: String!) { ${LOGIN} }`;
  const ada = { username: "ada", password: "ada-demo" };

  /** Signs in every caller, and identifies users by their tokens. */
  const startSignIn = () =>
    startFake(({ path, headers }) => {
      if (path.endsWith("users/token/")) return { json: { token: "n3w" } };
      if (!path.endsWith("users/"))
        return { json: { id: 3, description: `for ${headers["authorization"]}` } };
      const username = headers["authorization"] === "token n3w" ? "ada" : "grace";
      return { json: { username, email: `${username}@example.com`, is_superuser: username === "ada" } };
    });

  test("sends no token, and uses the new token only for its user", async () => {
    const service = await startSignIn();
    const env = { CACHE_TTL_MS: "60000" };
    const { ask } = await startGateway({ upstream: service, token: "t0ken", env });
    const grant = `grantSuperuser(username: "grace") { user { isSuperuser } }`;
    const answer = await ask(
      `mutation ($username: String!, $password: String!) {
        before: ${grant}
        ${LOGIN}
        after: ${grant}
        run: stopExperiment(id: "ada.mnist.3", force: true) { experiment { description } }
      }`,
      ada,
    );
    const grace = { user: { isSuperuser: true } };
    const user = { id: globalId("User:ada"), username: "ada", email: "ada@example.com", isSuperuser: true };
    expect(answer).toEqual({
      data: {
        before: grace,
        login: { token: "n3w", user },
        after: grace,
        run: { experiment: { description: "for token t0ken" } },
      },
    });
    const signed = service.seen().map((seen) => [onWire(seen), seen.headers["authorization"], seen.body]);
    expect(signed).toEqual([
      ["POST superusers/grant/grace/", "token t0ken", ""],
      ["POST users/token/", undefined, JSON.stringify(ada)],
      ["GET users/", "token n3w", ""],
      ["POST superusers/grant/grace/", "token t0ken", ""],
      ["POST ada/mnist/experiments/3/stop", "token t0ken", ""],
      ["GET ada/mnist/experiments/3/", "token t0ken", ""],
    ]);
    // Data that was read with the new token is not cached for callers with another one.
    await ask(login, ada);
    expect(await ask("{ viewer { username } }")).toEqual({ data: { viewer: { username: "grace" } } });
  });

  const refusals = readRecording("0.2.0-reads").flatMap(
    ({ case: name, status, json }): [string, FakeResponse][] =>
      /^auth login (?:bad password|unknown user|inactive user|blank fields)$/.test(name)
        ? [[name, { status, json }]]
        : [],
  );
  const blank = "username: This field may not be blank. password: This field may not be blank.";

  test.each<[string, FakeResponse, string]>([
    ...refusals.map(([name, reported]): [string, FakeResponse, string] => [
      name,
      reported,
      name.endsWith("blank fields") ? blank : "Unable to log in with provided credentials.",
    ]),
    ["a page", html(400), "The service refused the username and password."],
    ["401", detail(401, "No such user."), "No such user."],
    ["403", detail(403, "User inactive or deleted."), "User inactive or deleted."],
    ["403 with nothing", { status: 403, text: "" }, "The service refused the username and password."],
  ])(
    "that the service refuses returns BAD_CREDENTIALS and the service's message: %s",
    async (_, reported, message) => {
      const { ask, service } = await startBefore(() => reported);
      const upstream = { method: "POST", route: "users/token/", status: reported.status };
      expect(outcomeOf(await ask(login, ada))).toEqual({
        data: { login: null },
        errors: [failure("login", "BAD_CREDENTIALS", message, { upstream })],
      });
      expect(service.inOrder()).toEqual(["POST users/token/"]);
      expect(refusals).toHaveLength(4);
    },
  );

  test("returns the token even when the user cannot be read", async () => {
    const service = await startFake(({ method }) =>
      method === "GET" ? detail(403, "User inactive or deleted.") : { json: { token: "n3w" } },
    );
    const { ask } = await startGateway({ upstream: service, token: null });
    expect(outcomeOf(await ask(login, ada))).toEqual({
      data: { login: { token: "n3w", user: null } },
      errors: [
        failure("login.user", "UNAUTHENTICATED", "User inactive or deleted.", {
          upstream: { method: "GET", route: "users/", status: 403 },
        }),
      ],
    });
  });

  test.each([{}, { token: "" }, { token: null }, { token: 7 }])(
    "answered with %j returns UPSTREAM_BAD_RESPONSE",
    async (json) => {
      const { ask } = await startBefore(() => ({ json }), {}, { token: null });
      expect(outcomeOf(await ask(login, ada))).toMatchObject({
        data: { login: null },
        errors: [{ at: "login", code: "UPSTREAM_BAD_RESPONSE" }],
      });
    },
  );
});
