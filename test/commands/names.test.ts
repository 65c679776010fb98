import { globalId } from "../support/ids.ts";
import { describe, expect, test } from "vitest";
import { errorsOf, failure } from "../support/errors.ts";
import { pageOf, startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { startProfile } from "../support/profiles.ts";
import COMMANDS from "./experiment-commands.json" with { type: "json" };

/*
 * The service finds an experiment by its own number, and ignores the number of the group. A wrong number of the group would send a command
 * to a run that was not meant, so a run with such a name is read first.
 */

async function start() {
  const rowOf = (id: string) => ({
    id: Number(id),
    unique_name: `ada.mnist.2.${id}`,
    last_status: "running",
  });
  const service = await startFake(({ method, path }) => {
    const [, several] = /query=id%3A(.*?)&/.exec(path) ?? [];
    if (several) return pageOf(several.split("%7C").map(rowOf), { path: "" });
    const [, id = ""] = /experiments\/(\d+)/.exec(path) ?? [];
    if (method === "GET") return { json: rowOf(id) };
    return path.endsWith("metrics") ? { json: { id: 1, values: {} } } : { json: { id: 61 } };
  });
  const gateway = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  return { ...gateway, sent: service.inOrder };
}

const SLIP = `ada.mnist.7.3`;
const MISSING = `Not found: ${SLIP}. There is ada.mnist.2.3.`;
const READ = "GET ada/mnist/experiments/3/";

describe("a run named with another group's number gets no command:", () => {
  test.each(Object.entries(COMMANDS))("%s", async (name, input) => {
    const { ask, sent } = await start();
    const answer = await ask(`mutation { done: ${name}(id: "${SLIP}"${input}) { __typename } }`);
    expect(errorsOf(answer)).toEqual([failure("done", "NOT_FOUND", MISSING)]);
    expect(sent()).toEqual([READ]);
  });

  test.each([
    ["deleteRuns", "deletedId"],
    ["stopRuns", "run { id }"],
    ["bookmarkRuns", "run { id }"],
    ["archiveRuns", "run { id }"],
  ])("%s sends commands only to correctly named runs", async (mutation, field) => {
    const { ask, sent } = await start();
    const answer = await ask(
      `mutation { done: ${mutation}(ids: ["ada.mnist.2.4", "${SLIP}"]) { results { outcome message ${field} } } }`,
    );
    const result = field === "deletedId" ? { deletedId: null } : { run: null };
    expect(answer).toMatchObject({
      data: {
        done: { results: [{ outcome: "DONE" }, { outcome: "NOT_FOUND", message: MISSING, ...result }] },
      },
    });
    const commands = sent().filter((request) => !request.startsWith("GET "));
    expect(commands).toHaveLength(1);
    expect(commands).not.toContain(expect.stringContaining("/3"));
  });
});

test.each([false, true])(
  "a wrong name does not affect the same run's id, reversed: %s",
  async (isReversed) => {
    const { ask, sent } = await start();
    const ids = [SLIP, globalId("Experiment:ada/mnist/3")];
    const results = [{ outcome: "NOT_FOUND" }, { outcome: "DONE" }];
    if (isReversed) ids.reverse();
    if (isReversed) results.reverse();
    expect(
      await ask(`mutation { bookmarkRuns(ids: ${JSON.stringify(ids)}) { results { outcome } } }`),
    ).toEqual({
      data: { bookmarkRuns: { results } },
    });
    expect(sent().filter((request) => !request.startsWith("GET "))).toEqual([
      "POST ada/mnist/experiments/3/bookmark/",
    ]);
  },
);

test.each([["two spellings of one run", ["ada.mnist.2.3", "ada.mnist.experiments.3"]]])(
  "%s get one command in a mutation of several runs",
  async (_, ids) => {
    const { ask, sent } = await start();
    expect(
      await ask(`mutation { bookmarkRuns(ids: ${JSON.stringify(ids)}) { results { outcome } } }`),
    ).toEqual({
      data: { bookmarkRuns: { results: [{ outcome: "DONE" }, { outcome: "DONE" }] } },
    });
    expect(sent().filter((request) => !request.startsWith("GET "))).toHaveLength(1);
  },
);

test.each(["experiment", "run", "entity"])(
  "%s finds no run by a wrong name, whatever is selected",
  async (field) => {
    const { ask } = await start();
    expect(errorsOf(await ask(`{ ${field}(id: "${SLIP}") { id } }`))).toEqual([
      failure(field, "NOT_FOUND", MISSING),
    ]);
    expect(await ask(`{ ${field}(id: "ada.mnist.2.3") { ... on Experiment { uniqueName } } }`)).toEqual({
      data: { [field]: { uniqueName: "ada.mnist.2.3" } },
    });
  },
);

test.each([
  [`mutation { done: grantSuperuser(username: "nobody") { user { id } } }`, "username nobody"],
  [`{ done: user(username: "nobody") { bookmarks(kind: JOB) { totalCount } } }`, "owner nobody"],
  [`{ done: group(id: "ada.mnist.99") { experiments { totalCount } } }`, "ada.mnist.groups.99"],
])("%s: the error names the missing record", async (query, missing) => {
  const { ask } = await startProfile("polyaxon-0.4");
  const { errors = [] } = await ask(query);
  expect(errors.map(({ message }) => message)).toEqual([`Not found: ${missing}.`]);
});
