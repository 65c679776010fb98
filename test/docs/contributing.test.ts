import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { askAt } from "../support/gateway.ts";
import { createFolder } from "../support/build.ts";
import { HAS_LINTER, LINTER } from "../support/linter.ts";
import { startFake } from "../support/fake.ts";
import type { Answer } from "../support/gateway.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { globalId } from "../support/ids.ts";
import { mainIn } from "../support/main-process.ts";
import { subscribe } from "../support/subscriber.ts";
import { profileFile } from "../support/tracker.ts";
import { COMPILER } from "../support/typescript.ts";
import { readPage } from "./page.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const COPIED =
  "demo src schema test/contract package.json tsconfig.build.json tsconfig.json .oxlintrc.json".split(" ");

/** The diffs of CONTRIBUTING's recipes, file by file. */
const diffs = readPage("CONTRIBUTING.md").blocks.flatMap(({ language, text }) =>
  language === "diff" ? text.split(/^\+{3} /m).slice(1) : [],
);

/** Applies the part of a diff that changes one file. `git apply` would need line numbers, which a page would get wrong. */
function apply(part: string, folder: string): void {
  const [path = "", ...lines] = part.trimEnd().split("\n");
  const textOf = (left: string) =>
    lines.flatMap((line) => (line.startsWith(left) ? [] : `${line.slice(1)}\n`)).join("");
  const file = join(folder, path);
  const isNew = textOf("+") === "";
  if (isNew && existsSync(file)) throw new Error(`${path}: expected a new file`);
  // An earlier recipe may already have changed the line in the same way.
  if (!isNew && part.includes("\n-") && readFileSync(file, "utf8").includes(textOf("-"))) return;
  const [before, after, ...others] = isNew ? ["", ""] : readFileSync(file, "utf8").split(textOf("+"));
  if (after === undefined || others.length > 0)
    throw new Error(`${path}: correct the recipe in CONTRIBUTING.md, expected once:\n${textOf("+")}`);
  writeFileSync(file, before + textOf("-") + after);
}

/** A copy of the code to which all recipes were applied. The compiler and the linter accept it. */
let folder = "";
beforeAll(() => {
  folder = createFolder("recipes-");
  for (const path of COPIED) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const part of diffs) apply(part, folder);
  for (const command of [
    [COMPILER, "-p", "tsconfig.build.json", "--noCheck", "false"],
    ...(HAS_LINTER ? [[LINTER, "--deny-warnings", "src"]] : []),
  ])
    execFileSync(process.execPath, command, { cwd: folder });
});

/** Starts a gateway with the code of the copy, in front of a service or of its own demo. */
async function startChanged(upstreamUrl: string | null, env: Record<string, string>) {
  const { url, kill } = await startGatewayProcess(upstreamUrl, env, [mainIn(folder)]);
  onTestFinished(kill);
  const ask = async (query: string, token = "t0ken") =>
    (await askAt(`${url}/graphql`, token, query)) as Answer<Record<string, { token: string } | null>>;
  return { url, ask };
}

test("the field, endpoint and subscription from CONTRIBUTING's recipes work", async () => {
  const { url, ask: askAs } = await startChanged(null, { UPSTREAM_PROFILE: "document" });
  const login = await askAs(`mutation { login(input: {username: "ada", password: "ada-demo"}) { token } }`);
  const token = login.data["login"]?.token ?? "";
  const ask = (query: string) => askAs(query, token);
  expect(await ask(`{ job(id: "ada.mnist.jobs.2") { queue uniqueName } }`)).toEqual({
    data: { job: { queue: null, uniqueName: "ada.mnist.jobs.2" } },
  });
  expect(await ask(`mutation { pauseJob(id: "ada.mnist.jobs.2") { job { status } } }`)).toEqual({
    data: { pauseJob: { job: { status: "STOPPING" } } },
  });
  const query = `subscription { groupUpdated(id: "ada.mnist.1") { name experimentCounts { total } } }`;
  const events = await subscribe(url, { query, token });
  expect(await events.next()).toEqual({
    data: { groupUpdated: { name: "sweep", experimentCounts: { total: expect.any(Number) } } },
  });
  events.leave();
});

test("CONTRIBUTING's example kind works if a profile defines its endpoints", async () => {
  const notebook = { id: 7, unique_name: "ada.mnist.notebooks.7", last_status: "running", build_job: null };
  const service = await startFake(({ path }) => {
    if (path.includes("/notebook-7")) return { json: { ...notebook, node_scheduled: "gpu-1" } };
    return path.includes("/notebooks") ? { json: { count: 1, next: null, results: [notebook] } } : undefined;
  });
  const profile = `
extends: polyaxon-0.4
endpoints:
  notebook:
    list: GET {owner}/{project}/notebooks
    read: GET {owner}/{project}/notebook-{id}
    stop: POST {owner}/{project}/notebook-{id}/halt
omittedInLists: { notebooks: [node_scheduled] }
`;
  const { ask } = await startChanged(service.url, { UPSTREAM_PROFILE: profileFile(profile) });
  const answer = await ask(`{ project(id: "ada.mnist") {
    notebooks(filter: { statuses: [RUNNING] }) { nodes { id status } }
  } notebook(id: "ada.mnist.notebooks.7") { __typename nodeScheduled { name } buildJob { id } } }`);
  const node = { id: globalId("Notebook:ada/mnist/7"), status: "RUNNING" };
  const read = { __typename: "Notebook", nodeScheduled: { name: "gpu-1" }, buildJob: null };
  expect(answer).toEqual({ data: { project: { notebooks: { nodes: [node] } }, notebook: read } });
  const { data, errors } = await ask(`mutation {
    stopNotebook(id: "ada.mnist.notebooks.7", force: true) { notebook { internalId } }
    pauseJob(id: "ada.mnist.jobs.2") { job { id } }
  }`);
  expect(data).toEqual({ stopNotebook: { notebook: { internalId: "7" } }, pauseJob: null });
  expect(errors?.map(({ extensions }) => extensions["code"])).toEqual(["CAPABILITY_UNAVAILABLE"]);
  expect(service.inOrder().filter((call) => call.startsWith("POST"))).toEqual([
    "POST ada/mnist/notebook-7/halt",
  ]);
});
