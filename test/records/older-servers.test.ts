import { describe, expect, test } from "vitest";
import { codesOf, errorsOf } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { profileFile } from "../support/tracker.ts";

/** An older server: rows and records without newer keys, and one experiment that another was made from. */
const startOlder = () =>
  startFake(({ path }) => {
    const record = (id: number) => ({
      id,
      last_status: "succeeded",
      original: id === 2 ? "ada.mnist.1" : null,
    });
    if (path.includes("?")) return { json: { count: 2, results: [record(2), record(3)] } };
    const [, , , folder, id] = path.replace("/api/v1", "").split("/");
    if (folder === "experiments" && id) return { json: record(Number(id)) };
    return path === "/api/v1/ada/mnist" ? { json: { name: "mnist", description: "Digits" } } : undefined;
  });

const LIST = `{ project(id: "ada.mnist") { experiments(first: 2) { nodes {
  status framework readme cloningStrategy runEnvironment original { uniqueName framework }
} } } }`;

const row = (original: object | null) => ({
  status: "SUCCEEDED",
  framework: null,
  readme: null,
  cloningStrategy: null,
  runEnvironment: null,
  original,
});

describe("keys that no record of a server has", () => {
  test.each([
    ["are null in rows and after links, without a request", "polyaxon-0.2", []],
    [
      "are read where the profile says that records have them",
      "extends: polyaxon-0.2\nomitted: {experiments: []}",
      [1, 2, 3],
    ],
  ])("%s", async (_, profile, read) => {
    const service = await startOlder();
    const UPSTREAM_PROFILE = profile.includes(":") ? profileFile(profile) : profile;
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE } });
    const nodes = [row({ uniqueName: "ada.mnist.1", framework: null }), row(null)];
    expect(await ask(LIST)).toEqual({ data: { project: { experiments: { nodes } } } });
    expect(service.calls()).toEqual([
      ...read.map((id) => `GET ada/mnist/experiments/${id}/`),
      "GET ada/mnist/experiments?limit=2",
    ]);
  });

  test("do not prove that a record exists: a look-up reads it, and shows them if they are there after all", async () => {
    const service = await startFake(({ path }) =>
      path.includes("/1/") ? { json: { id: 1, framework: "pytorch" } } : undefined,
    );
    const { ask } = await startGateway({ upstream: service });
    const answer = await ask(`{
      there: experiment(id: "ada.mnist.1") { framework }
      gone: experiment(id: "ada.mnist.2") { framework }
    }`);
    expect(answer.data).toEqual({ there: { framework: "pytorch" }, gone: null });
    expect(errorsOf(answer)).toMatchObject([{ at: "gone", code: "NOT_FOUND" }]);
    expect(service.calls()).toEqual(["GET ada/mnist/experiments/1/", "GET ada/mnist/experiments/2/"]);
  });

  test("are the readmes of projects on 0.2: the rest of the record is read without them", async () => {
    const service = await startOlder();
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.2" } });
    const projectWith = (fields: string) => ask(`{ project(id: "ada.mnist") { ${fields} } }`);
    expect(await projectWith("readme")).toEqual({ data: { project: { readme: null } } });
    expect(service.calls()).toEqual([]);
    expect(await projectWith("readme description")).toEqual({
      data: { project: { readme: null, description: "Digits" } },
    });
    expect(service.calls()).toEqual(["GET ada/mnist"]);
  });
});

describe("a server without the endpoint", () => {
  test("of code references and projects is not asked for them; the rest of the answer is there", async () => {
    const service = await startOlder();
    const { ask } = await startGateway({ upstream: service });
    const answer = await ask(`{
      experiment(id: "ada.mnist.2") { status codeReference { commit } project { name tags isPublic } }
      entity(id: "${globalId("Project:ada/mnist")}") { id ... on Project { name description } }
    }`);
    expect(answer.data).toEqual({
      experiment: {
        status: "SUCCEEDED",
        codeReference: null,
        project: { name: "mnist", tags: null, isPublic: null },
      },
      entity: { id: globalId("Project:ada/mnist"), name: "mnist", description: null },
    });
    // One for each endpoint.
    expect(codesOf(answer)).toEqual(["CAPABILITY_UNAVAILABLE", "CAPABILITY_UNAVAILABLE"]);
    expect(service.calls()).toEqual(["GET ada/mnist/experiments/2/"]);
  });
});
