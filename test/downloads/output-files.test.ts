import { describe, expect, test } from "vitest";
import { errorsOf } from "../support/errors.ts";
import type { FakeResponse } from "../support/fake.ts";
import type { Answer } from "../support/gateway.ts";
import { detail, html } from "../support/replies.ts";
import NAMES from "./names.json" with { type: "json" };
import QUERIES from "./queries.json" with { type: "json" };
import { errorsIn, RUN, startDownloads } from "./download-client.ts";

const TREE = "ada/mnist/experiments/42/outputs/tree";
const FILES = "ada/mnist/experiments/42/outputs/files";
const FILE = `${RUN}/files`;

/** Starts the gateway in front of a service with these responses to GETs, by path. The service has every record. */
const startFiles = (reported: Readonly<Record<string, FakeResponse>>) =>
  startDownloads(({ path }) => {
    const asked = path.replace("/api/v1/", "");
    return reported[asked] ?? (/\/\d+\/$/.test(asked) ? { json: { id: 42 } } : undefined);
  });

const folder = (path: string | null) =>
  `{ experiment(id: "ada.mnist.42") { outputFiles${path === null ? "" : `(path: ${JSON.stringify(path)})`} {
    folders { name path } files { name path bytes url }
  } } }`;

const MISSING: FakeResponse = {
  status: 400,
  json: ["Experiment outputs path does not exists or bad configuration."],
};

describe("the output files of a run", () => {
  const filesOf = (json: object) => startFiles({ [TREE]: { json } });
  const shown = async (answering: Awaited<ReturnType<typeof startFiles>>, path: string | null = null) =>
    ((await answering.ask(folder(path))) as Answer<{ experiment: { outputFiles: unknown } }>).data.experiment
      .outputFiles;

  test("are listed by folder, sorted by name, with URLs for files", async () => {
    const best = [["model.bin", 7]];
    const files = [
      ["z.txt", 3],
      ["a b+c%.bin", 5e9],
      ["ü", null],
    ];
    const gateway = await startFiles({
      [TREE]: { json: { dirs: ["plots", "checkpoints"], files } },
      [`${TREE}?path=checkpoints%2Fbest`]: { json: { dirs: [], files: best } },
    });
    const file = (path: string, bytes: number | null) => ({
      name: path.replace(/^.*\//, ""),
      path,
      bytes,
      url: `${gateway.url}/downloads/${FILE}?path=${encodeURIComponent(path)}`,
    });
    expect(await shown(gateway)).toEqual({
      folders: ["checkpoints", "plots"].map((name) => ({ name, path: name })),
      files: [file("a b+c%.bin", 5e9), file("z.txt", 3), file("ü", null)],
    });
    expect(await shown(gateway, "checkpoints/best")).toEqual({
      folders: [],
      files: [file("checkpoints/best/model.bin", 7)],
    });
    expect(gateway.service.calls()).toEqual([`GET ${TREE}`, `GET ${TREE}?path=checkpoints%2Fbest`]);
  });

  test("have no path or URL if their names are invalid", async () => {
    const names = ["../../etc/passwd", "a/b", "a\nb", ""];
    const gateway = await filesOf({ dirs: ["..", "a\\b"], files: names.map((name) => [name, 1]) });
    expect(await shown(gateway)).toMatchObject({
      folders: [{ path: null }, { path: null }],
      files: names.map(() => ({ path: null, url: null })),
    });
  });

  test("are null when the upstream list cannot be read", async () => {
    const files = [
      ["a", 1],
      ["b", "2"],
    ];
    const gateway = await filesOf({ dirs: ["plots"], files });
    expect(await shown(gateway)).toMatchObject({ folders: [{ name: "plots" }], files: null });
  });

  test("are null for a missing folder of an existing run", async () => {
    const { ask, service } = await startFiles({ [`${TREE}?path=nothing`]: MISSING });
    expect(await ask(folder("nothing"))).toEqual({ data: { experiment: { outputFiles: null } } });
    expect(service.calls()).toEqual([`GET ${TREE}?path=nothing`]);
  });

  test.each<[string, FakeResponse, string]>([
    ["a run that may not be read", detail(403, "You do not have permission."), "FORBIDDEN"],
    ["a server without the route", html(404), "UPSTREAM_UNSUPPORTED"],
    ["a server that fails", html(500), "UPSTREAM_ERROR"],
  ])("return an error for %s", async (_, reported, code) => {
    const { ask } = await startFiles({ [TREE]: reported });
    const answer = await ask<unknown, object>(folder(null));
    expect(errorsOf(answer)).toMatchObject([{ at: "experiment.outputFiles", code }]);
  });

  test("report a missing run as the run's error", async () => {
    const { ask, service } = await startDownloads();
    const answer = await ask<unknown, object>(folder(null));
    expect(answer.data).toEqual({ experiment: null });
    expect(errorsOf(answer)).toMatchObject([{ at: "experiment", code: "NOT_FOUND" }]);
    expect(service.calls()).toEqual(["GET ada/mnist/experiments/42/", `GET ${TREE}`]);
  });
});

/** Strings that are not a relative path of plain segments. */
const BAD_PATHS = [
  ..."..|.|../x|a/../../x|a/./b|/etc/passwd|//etc|a//b|a/|a\\..\\b|a\0b|a\nb|a\u0085b".split("|"),
  "ü".repeat(400),
];

describe("an invalid path", () => {
  test.each(BAD_PATHS)("is refused without an upstream request: %j", async (path) => {
    const { ask, take, service } = await startFiles({});
    const answer = await ask<unknown, object>(folder(path));
    const message = expect.stringMatching(/^path: expected a relative path/);
    const code = "BAD_USER_INPUT";
    expect(errorsOf(answer)).toMatchObject([{ at: "experiment.outputFiles", code, message }]);
    const { status, body } = await take({}, `${FILE}?path=${encodeURIComponent(path)}`);
    expect([status, errorsIn(body)]).toMatchObject([400, [{ message, extensions: { code } }]]);
    expect(service.calls()).toEqual([]);
  });

  test.each(QUERIES)("is refused in a download's query: $search", async ({ search, message }) => {
    const { take, service } = await startFiles({});
    const { status, body } = await take({}, FILE + search);
    expect([status, errorsIn(body)]).toMatchObject([
      400,
      [{ message: expect.stringContaining(`path: ${message}`), extensions: { code: "BAD_USER_INPUT" } }],
    ]);
    expect(service.calls()).toEqual([]);
  });
});

describe("the download of one file", () => {
  test.each(NAMES)("uses the file's own name: $path", async ({ path, sent, disposition }) => {
    const given = { "content-length": "3", "content-disposition": "inline; filename=canary" };
    const reported: FakeResponse = { text: "hi\n", headers: { "content-type": "text/html", ...given } };
    const { take, service } = await startFiles({ [`${FILES}?path=${sent}`]: reported });
    const { status, body, headers } = await take({}, `${FILE}?path=${encodeURIComponent(path)}`);
    expect([status, body]).toEqual([200, "hi\n"]);
    expect(headers).toMatchObject({
      "content-disposition": disposition,
      "content-type": "application/octet-stream",
      "content-length": "3",
      "content-security-policy": "sandbox",
      "x-content-type-options": "nosniff",
    });
    expect(service.calls()).toEqual([`GET ${FILES}?path=${sent}`]);
  });

  test("decodes a plus as a space, as in form encoding", async () => {
    const { take } = await startFiles({ [`${FILES}?path=a%20b`]: { text: "hi\n" } });
    const search = new URLSearchParams({ path: "a b" }).toString();
    expect((await take({}, `${FILE}?${search}`)).body).toBe("hi\n");
  });

  test("reports a missing file without revealing server paths", async () => {
    const json = "File not found: file_path=/plx/outputs/ada/mnist/experiments/42/x";
    const { take } = await startFiles({ [`${FILES}?path=x`]: { status: 404, json } });
    const { status, body } = await take({}, `${FILE}?path=x`);
    const route = "{owner}/{project}/experiments/{id}/outputs/files";
    const upstream = { method: "GET", route, status: 404 };
    const extensions = { code: "NOT_FOUND", requestId: "request-1", upstream };
    const errors = [{ message: "Not found: x of ada.mnist.experiments.42.", extensions }];
    expect([status, JSON.parse(body)]).toEqual([404, { errors }]);
  });
});
