import { describe, expect, test } from "vitest";
import { errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { startFake, type FakeResponse } from "../support/fake.ts";
import { RELEASE_04, startBefore, startGateway } from "../support/gateway.ts";
import REJECTED_TOKENS from "./rejected-tokens.json" with { type: "json" };

const LISTS = ["EXPERIMENT", "JOB", "BUILD_JOB", "GROUP", "PROJECT"];
const BOOKMARKS = `{ viewer { username ${LISTS.map((kind) => `${kind}: bookmarks(kind: ${kind}) { totalCount }`).join(" ")} } }`;
const EXPECTED = {
  data: {
    viewer: { username: "ada", ...Object.fromEntries(LISTS.map((list) => [list, { totalCount: 0 }])) },
  },
};
const CALLS = [
  "GET bookmarks/ada/builds",
  "GET bookmarks/ada/experiments",
  "GET bookmarks/ada/groups",
  "GET bookmarks/ada/jobs",
  "GET bookmarks/ada/projects",
  "GET users/",
];

/** Starts a service that identifies the caller only if `me` does. */
async function startBookmarks(me: () => FakeResponse | Promise<FakeResponse>) {
  const lists = { arrived: () => {} };
  const { ask, service } = await startBefore(({ path }) => {
    if (path.endsWith("/users/")) return me();
    lists.arrived();
    return { json: { count: 0, results: [] } };
  }, RELEASE_04);
  return { ask, service, lists };
}

test("reads lists while the name of a known caller is verified", async () => {
  const current = { me: (): FakeResponse | Promise<FakeResponse> => ({ json: { username: "ada" } }) };
  const { ask, service, lists } = await startBookmarks(() => current.me());
  expect(await ask(BOOKMARKS)).toEqual(EXPECTED);
  expect(service.inOrder()[0]).toBe("GET users/");
  expect(service.calls()).toEqual(CALLS);
  // The service identifies the caller only after the request for a list.
  const asked = new Promise<void>((resolve) => (lists.arrived = resolve));
  current.me = async () => {
    await asked;
    return { json: { username: "ada" } };
  };
  expect(await ask(BOOKMARKS)).toEqual(EXPECTED);
  expect(service.calls()).toEqual([...CALLS, ...CALLS].toSorted());
});

test.each(REJECTED_TOKENS)(
  "the viewer is null if the token $case, despite a cached name",
  async ({ reported, message, details }) => {
    const current: { me: FakeResponse } = { me: { json: { username: "ada" } } };
    const { ask } = await startBookmarks(() => current.me);
    await ask("{ viewer { username } }");
    current.me = reported;
    const answer = await ask(BOOKMARKS);
    expect(answer.data).toEqual({ viewer: null });
    expect(errorsOf(answer)).toEqual([failure("viewer", "UNAUTHENTICATED", message, details)]);
  },
);

test("each caller's name is cached separately", async () => {
  const service = await startFake(({ path, headers }) =>
    path.endsWith("/users/")
      ? { json: { username: `${headers["authorization"]}`.replace("token ", "") } }
      : { json: { count: 0, results: [] } },
  );
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  for (const token of ["ada", "grace", "ada", "grace"]) {
    expect(await ask("{ viewer { username bookmarks(kind: JOB) { totalCount } } }", {}, { token })).toEqual({
      data: { viewer: { username: token, bookmarks: { totalCount: 0 } } },
    });
  }
  // An operation that selects only the known name still sends the request.
  await ask("{ viewer { username } }", {}, { token: "ada" });
  expect(service.calls().filter((call) => call === "GET users/")).toHaveLength(5);
});

describe("an empty list of bookmarks", () => {
  test.each([
    ["of another user is FORBIDDEN", "grace", { username: "ada" }, true],
    ["of another user is empty for a superuser", "grace", { username: "ada", is_superuser: true }, false],
    ["of the caller is empty", "ada", { username: "ada" }, false],
  ])("%s", async (_, username, me, isForbidden) => {
    const { ask, service } = await startBefore(
      ({ path }) => ({
        json: path.endsWith("/users/") ? me : { count: 0, next: null, previous: null, results: [] },
      }),
      RELEASE_04,
    );
    const message = "The service shows a user's bookmarks only to that user.";
    expect(
      outcomeOf(await ask(`{ user(username: "${username}") { bookmarks(kind: JOB) { totalCount } } }`)),
    ).toEqual({
      data: { user: { bookmarks: isForbidden ? null : { totalCount: 0 } } },
      errors: isForbidden ? [failure("user.bookmarks", "FORBIDDEN", message)] : [],
    });
    expect(service.inOrder()).toEqual([
      expect.stringMatching(`^GET bookmarks/${username}/jobs`),
      "GET users/",
    ]);
  });
});
