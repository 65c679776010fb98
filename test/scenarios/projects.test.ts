import { describe, expect, test } from "vitest";
import { codesOf, failure, outcomeOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { RELEASE_04, startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { startProfile } from "../support/profiles.ts";
import REFUSED from "./refused-projects.json" with { type: "json" };

describe("a project", () => {
  test("leaves the list when archived, stays readable, and can be restored", async () => {
    const { ask, calls } = await startProfile();
    // Only the address and the commanded value are selected, so nothing is read.
    const archive = async (isArchived: boolean) => {
      expect(
        await ask(
          `mutation { archiveProject(id: "ada.mnist", isArchived: ${isArchived}) { project { isArchived } } }`,
        ),
      ).toEqual({ data: { archiveProject: { project: { isArchived } } } });
      expect(calls()).toEqual([`POST ada/mnist/${isArchived ? "archive" : "restore"}`]);
      const { data } = await ask(`{
        user(username: "ada") { projects { nodes { name } } }
        project(id: "ada.mnist") { isPublic }
      }`);
      calls();
      return data;
    };
    const project = { isPublic: true };
    const [speech, mnist] = [{ name: "speech" }, { name: "mnist" }];
    expect(await archive(true)).toEqual({ user: { projects: { nodes: [speech] } }, project });
    expect(await archive(false)).toEqual({ user: { projects: { nodes: [speech, mnist] } }, project });
  });

  test("changes only in the updated fields, and null clears a field", async () => {
    const { ask, calls } = await startProfile();
    const update = (input: string) =>
      ask(`mutation { updateProject(id: "ada.mnist", input: { ${input} }) {
        project { id description readme tags isPublic }
      } }`);
    const id = globalId("Project:ada/mnist");
    const reported = (project: object) => ({ data: { updateProject: { project: { id, ...project } } } });
    const readme: unknown = expect.stringContaining("# MNIST");
    expect(await update(`description: "Digits", tags: [], isPublic: false`)).toEqual(
      reported({ description: "Digits", readme, tags: [], isPublic: false }),
    );
    expect(await update("description: null, readme: null, tags: null")).toEqual(
      reported({ description: null, readme: null, tags: null, isPublic: false }),
    );
    expect(calls()).toEqual(["PATCH ada/mnist", "PATCH ada/mnist"]);
  });

  test("gets new ids when renamed, and old ids are not found", async () => {
    const { ask, calls } = await startProfile();
    const answer = await ask(`mutation { updateProject(id: "ada.mnist", input: { name: "digits" }) {
      project { id uniqueName experiments(first: 1, query: "id:42") { nodes { uniqueName } } }
    } }`);
    const experiments = { nodes: [{ uniqueName: "ada.digits.42" }] };
    const project = { id: globalId("Project:ada/digits"), uniqueName: "ada.digits", experiments };
    expect(answer).toEqual({ data: { updateProject: { project } } });
    expect(calls()).toEqual(["GET ada/digits/experiments?query=id%3A42&limit=1", "PATCH ada/mnist"]);
    expect(codesOf(await ask(`{ experiment(id: "ada.mnist.42") { status } }`))).toEqual(["NOT_FOUND"]);
    calls();
    const ids = ["ada/mnist", "ada/digits"].map((path) => globalId(`Project:${path}`));
    const found = await ask(`query ($ids: [ID!]!) { entities(ids: $ids) { id } }`, { ids });
    expect(found.data).toEqual({ entities: [null, { id: ids[1] }] });
    expect(codesOf(await ask(`query ($id: ID!) { entity(id: $id) { id } }`, { id: ids[0] }))).toEqual([
      "NOT_FOUND",
    ]);
    expect(calls()).toEqual(["GET ada/digits", "GET ada/mnist", "GET ada/mnist"]);
  });
});

test("a new project without a unique name may have been created", async () => {
  const service = await startFake(() => ({ status: 201, json: { name: "mnist" } }));
  const { ask } = await startGateway({ upstream: service, env: RELEASE_04 });
  const answer = await ask(`mutation { createProject(input: { name: "mnist" }) { project { name } } }`);
  expect(answer).toMatchObject({
    data: { createProject: null },
    errors: [{ extensions: { code: "UPSTREAM_BAD_RESPONSE", outcome: "unknown" } }],
  });
});

describe("the invalid project command", () => {
  const tooLong = {
    call: `createProject(input: { name: "${"f".repeat(201)}" })`,
    message: "input.name: expected 1 to 200 characters, got 201",
  };

  test.each([...REFUSED, tooLong])("$call is refused before anything is sent", async ({ call, message }) => {
    const { ask, calls } = await startProfile();
    expect(outcomeOf(await ask(`mutation { done: ${call} { __typename } }`))).toEqual({
      data: { done: null },
      errors: [failure("done", "BAD_USER_INPUT", message)],
    });
    expect(calls()).toEqual([]);
  });
});
