import { describe, expect, test } from "vitest";
import { AdministrationDocument } from "../generated/graphql.ts";
import { startWilling } from "../support/any-command.ts";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { codesOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { startProfile } from "../support/profiles.ts";

test("a payload tells what was commanded; other details are known of the caller only", async () => {
  const service = await startFake(({ method }) =>
    method === "GET" ? { json: { username: "ada", is_superuser: true, email: "ada@x.org" } } : { text: "" },
  );
  const { ask } = await startGateway({ upstream: service });
  const of = (username: string) =>
    `revokeSuperuser(username: "${username}") { user { username isSuperuser email } }`;
  expect(await ask(`mutation { own: ${of("ada")} other: ${of("grace")} }`)).toEqual({
    data: {
      own: { user: { username: "ada", isSuperuser: false, email: "ada@x.org" } },
      other: { user: { username: "grace", isSuperuser: false, email: null } },
    },
  });
  expect(service.inOrder()).toEqual([
    "DELETE superusers/revoke/ada/",
    "GET users/",
    "DELETE superusers/revoke/grace/",
    "GET users/",
  ]);
});

test.each([
  [`mutation { done: grantSuperuser(username: "nobody") { user { id } } }`, "username nobody"],
  [`{ done: user(username: "nobody") { bookmarks { totalCount } } }`, "owner nobody"],
  [`{ done: node(sequence: 99) { name } }`, "sequence 99"],
  [`{ done: group(id: "ada.mnist.99") { experiments { totalCount } } }`, "ada.mnist.groups.99"],
])("%s: what is missing is named", async (query, missing) => {
  const { ask } = await startProfile("polyaxon-0.4");
  const { errors = [] } = await ask(query);
  expect(errors.map(({ message }) => message)).toEqual([`Not found: ${missing}.`]);
});

const WRONG = [..." . .. a/b ../token a?b a#b a%2fb".split(" "), "a b", "a\n", "\u202e", "x".repeat(201)];

test.each(["activateUser", "deleteUser", "grantSuperuser", "revokeSuperuser"])(
  "%s of a name that could leave its path is BAD_USER_INPUT and sends nothing",
  async (name) => {
    const service = await startWilling();
    const { ask } = await startGateway({ upstream: service });
    const query = `mutation ($username: String!) { done: ${name}(username: $username) { __typename } }`;
    for (const username of WRONG) {
      const answer = await ask(query, { username });
      expect([username, answer.data, codesOf(answer)]).toEqual([
        username,
        { done: null },
        ["BAD_USER_INPUT"],
      ]);
    }
    expect(service.seen()).toEqual([]);
  },
);

describe("the administration of users", () => {
  test("of the demo: three commands, and nothing is read", async () => {
    const { ask, demo } = await startDemoGateway();
    const answer = await ask(AdministrationDocument, {
      newcomer: "margaret",
      admin: "grace",
      leaver: "linus",
    });
    const of = (username: string) => globalId(`User:${username}`);
    expect(answer).toEqual({
      data: {
        activateUser: { isActive: true, user: { id: of("margaret"), username: "margaret" } },
        grantSuperuser: { user: { id: of("grace"), username: "grace", isSuperuser: true } },
        deleteUser: { deletedId: of("linus") },
      },
    });
    expect(demo.calls()).toEqual([
      "POST /api/v1/users/activate/margaret/",
      "POST /api/v1/superusers/grant/grace/",
      "DELETE /api/v1/users/delete/linus/",
    ]);
  });
});
