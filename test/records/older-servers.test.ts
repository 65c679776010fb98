import { describe, expect, test } from "vitest";
import { optionalEndpoints } from "../../src/rest/api/kinds.ts";
import { errorsOf, failure } from "../support/errors.ts";
import { startFake } from "../support/fake.ts";
import { startBefore, startGateway } from "../support/gateway.ts";
import { type ProfileName, startProfile } from "../support/profiles.ts";
import { profileFile } from "../support/tracker.ts";
import NOT_OFFERED from "./not-offered.json" with { type: "json" };

/** Starts an older server. Its rows and records lack newer keys, and one experiment was copied from another one. */
const startOlder = () =>
  startFake(({ path }) => {
    const record = (id: number) => ({
      id,
      last_status: "succeeded",
      original: id === 2 ? "ada.mnist.1" : null,
    });
    if (path.includes("/ada?"))
      return { json: { count: 1, results: [{ name: "mnist", description: "Digits" }] } };
    if (path.includes("?")) return { json: { count: 2, results: [record(2), record(3)] } };
    const [, , , folder, id] = path.replace("/api/v1", "").split("/");
    return folder === "experiments" && id ? { json: record(Number(id)) } : undefined;
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
      "are read if the profile says that records have them",
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

  test("are read by a lookup, to check that the record exists", async () => {
    const { ask, service } = await startBefore(({ path }) =>
      path.includes("/1/") ? { json: { id: 1, framework: "pytorch" } } : undefined,
    );
    const answer = await ask(`{
      there: experiment(id: "ada.mnist.1") { framework }
      gone: experiment(id: "ada.mnist.2") { framework }
    }`);
    expect(answer.data).toEqual({ there: { framework: "pytorch" }, gone: null });
    expect(errorsOf(answer)).toMatchObject([{ at: "gone", code: "NOT_FOUND" }]);
    expect(service.calls()).toEqual(["GET ada/mnist/experiments/1/", "GET ada/mnist/experiments/2/"]);
  });

  test("include a project's readme on 0.2, unlike its other keys", async () => {
    const service = await startOlder();
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.2" } });
    const projectWith = (fields: string) => ask(`{ project(id: "ada.mnist") { ${fields} } }`);
    expect(await projectWith("readme")).toEqual({ data: { project: { readme: null } } });
    expect(service.calls()).toEqual([]);
    expect(await projectWith("readme description")).toEqual({
      data: { project: { readme: null, description: "Digits" } },
    });
    expect(service.calls()).toEqual(["GET ada?limit=500"]);
  });
});

describe("an unsupported field is null with one error, and is never requested", () => {
  test.each(NOT_OFFERED)("$profile: $field", async ({ profile, field, at, feature, capability, reads }) => {
    // Safe: the file names profiles.
    const { ask, calls } = await startProfile(profile as ProfileName);
    const type = /^\w+(?:Project|Runs)\(/.test(field) ? "mutation" : "query";
    const answer = await ask(`${type} { it: ${field} }`);
    const asked = /\.([a-z]\w*)[.\d]*$/i.exec(at)?.[1] ?? /^\w+/.exec(field)?.[0];
    const message = `${asked}: The server behind this gateway does not offer ${feature}: it lacks the capability \`${capability}\`.`;
    expect(errorsOf(answer)).toEqual([failure(`it${at}`, "CAPABILITY_UNAVAILABLE", message)]);
    const { it } = answer.data as { it: object | null };
    expect(Object.values(it ?? { it }).flat()).toContain(null);
    expect(calls()).toEqual(reads === null ? [] : [`GET ${reads}`]);
  });

  test("not-offered.json has a row for each capability of an optional read", () => {
    const reads = Object.values(optionalEndpoints).filter(({ method }) => method === "GET");
    const provided = new Set(reads.flatMap(({ capability }) => capability ?? []));
    expect(NOT_OFFERED.map(({ capability }) => capability)).toEqual(expect.arrayContaining([...provided]));
  });
});
