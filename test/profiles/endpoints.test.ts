import { describe, expect, test } from "vitest";
import { ConfigError, readConfig } from "../../src/config.ts";
import { tokenOf } from "../support/demo-gateway.ts";
import { errorsOf } from "../support/errors.ts";
import { POLYAXON, type ProfileName, startProfile } from "../support/profiles.ts";

describe("rows that a profile spells differently", () => {
  test.each([
    ["document", "experiment", "experiments/42/outputs"],
    ["document", "job", "jobs/1/outputs"],
    ["polyaxon-0.2", "experiment", "experiments/42/outputs"],
    ["polyaxon-0.2", "job", "jobs/1/outputs"],
    ["polyaxon-0.4", "experiment", "experiments/42/outputs/download"],
    ["polyaxon-0.4", "job", "jobs/1/outputs/download"],
  ] as const)("with %s the outputs of the %s are at %s", async (profile, kind, path) => {
    const { ask, calls, demo } = await startProfile(profile);
    const id = { experiment: "ada.mnist.42", job: "ada.mnist.jobs.1" }[kind];
    const { data } = await ask<{ run: { outputsUrl: string } }, object>(
      `{ run: ${kind}(id: "${id}") { outputsUrl } }`,
    );
    // The read that shows that the run is there.
    calls();
    const headers = { authorization: `token ${tokenOf(demo, "ada")}` };
    const download = await fetch(data.run.outputsUrl, { headers });
    const bytes = Buffer.from(await download.arrayBuffer());
    expect(download.status).toBe(200);
    // The first bytes of every gzip file.
    expect([...bytes.subarray(0, 2)]).toEqual([0x1f, 0x8b]);
    expect(calls()).toEqual([`GET ada/mnist/${path}`]);
  });

  test.each([
    ["document", "DELETE"],
    ["polyaxon-0.2", "POST"],
    ["polyaxon-0.4", "POST"],
  ] as const)("with %s the superuser role is taken away by %s", async (profile, method) => {
    const { ask, calls } = await startProfile(profile);
    const { data, errors } = await ask(
      `mutation { revokeSuperuser(username: "grace") { user { username } } }`,
    );
    expect(errors).toBeUndefined();
    expect(data).toEqual({ revokeSuperuser: { user: { username: "grace" } } });
    expect(calls()).toEqual([`${method} superusers/revoke/grace/`]);
  });

  test.each(POLYAXON)(
    "with %s jobs cannot be resumed or copied: nothing is sent, and it is said",
    async (profile) => {
      const { ask, calls } = await startProfile(profile);
      const answer = await ask(`mutation {
      resumeJob(id: "ada.mnist.jobs.1") { job { id } }
      copyJob(id: "ada.mnist.jobs.1") { job { id } }
      restartJob(id: "ada.mnist.jobs.1") { source { uniqueName } }
    }`);
      expect(answer.data).toEqual({
        resumeJob: null,
        copyJob: null,
        restartJob: { source: { uniqueName: "ada.mnist.jobs.1" } },
      });
      expect(errorsOf(answer)).toEqual(
        ["resume", "copy"].map((verb) => ({
          at: `${verb}Job`,
          code: "UPSTREAM_UNSUPPORTED",
          message: `This server does not offer POST {owner}/{project}/jobs/{id}/${verb}.`,
        })),
      );
      expect(calls()).toEqual(["POST ada/mnist/jobs/1/restart"]);
    },
  );

  test("with the document they are sent as it spells them", async () => {
    const { ask, calls } = await startProfile("document");
    await ask(`mutation {
      resumeJob(id: "ada.mnist.jobs.1") { source { id } }
      copyJob(id: "ada.mnist.jobs.1") { source { id } }
    }`);
    expect(calls()).toEqual(["POST ada/mnist/jobs/1/copy", "POST ada/mnist/jobs/1/resume"]);
  });
});

describe("UPSTREAM_ROWS", () => {
  const startRows = (rows: Record<string, string | null>, profile: ProfileName = "polyaxon-0.4") =>
    startProfile(profile, { UPSTREAM_ROWS: JSON.stringify(rows) });

  test("spells single rows as another server does, over any profile", async () => {
    const { ask, calls } = await startRows({
      "job.stop": "DELETE {project}/of/{owner}/job-{id}",
      "experiment.statuses": "GET {owner}/{project}/experiments/{id}/statuses/",
      "administration.revoke": "DELETE superusers/revoke/{username}/",
    });
    const answer = await ask(`mutation {
      stopJob(id: "ada.mnist.jobs.1") { job { id } }
      revokeSuperuser(username: "grace") { user { username } }
      stopExperiment(id: "ada.mnist.42") { experiment { statuses(first: 1) { totalCount } } }
    }`);
    expect(calls()).toEqual([
      "DELETE mnist/of/ada/job-1",
      "DELETE superusers/revoke/grace/",
      "GET ada/mnist/experiments/42/statuses/?limit=1",
      "POST ada/mnist/experiments/42/stop",
    ]);
    // The demo knows no such path: the error names the row as it was asked.
    expect(errorsOf(answer)).toEqual([
      expect.objectContaining({
        at: "stopJob",
        code: "UPSTREAM_UNSUPPORTED",
        upstream: { method: "DELETE", route: "{project}/of/{owner}/job-{id}", status: 405 },
      }),
    ]);
  });

  test("takes rows away", async () => {
    const { ask, calls } = await startRows({ "experiment.metrics": null, "cluster.read": null }, "document");
    const answer = await ask(`{
      experiment(id: "ada.mnist.42") { status metrics { totalCount } }
      cluster { uuid }
    }`);
    expect(answer.data).toEqual({ experiment: { status: "SUCCEEDED", metrics: null }, cluster: null });
    expect(
      answer.errors
        ?.map(({ path, message, extensions }) => [path?.join("."), extensions["code"], message])
        .toSorted(),
    ).toEqual([
      ["cluster", "UPSTREAM_UNSUPPORTED", "This server does not offer GET cluster/."],
      [
        "experiment.metrics",
        "UPSTREAM_UNSUPPORTED",
        "This server does not offer GET {owner}/{project}/experiments/{id}/metrics.",
      ],
    ]);
    expect(calls()).toEqual(["GET ada/mnist/experiments/42/"]);
  });

  test("gives a server what its profile takes away", async () => {
    const { ask, calls } = await startRows({ "job.copy": "POST {owner}/{project}/jobs/{id}/copy" });
    const { errors } = await ask(`mutation { copyJob(id: "ada.mnist.jobs.1") { source { id } } }`);
    expect(errors).toBeUndefined();
    expect(calls()).toEqual(["POST ada/mnist/jobs/1/copy"]);
  });

  const faults: readonly (readonly [rows: string, told: RegExp])[] = [
    ["job.stop", /expected a JSON object of row names and spellings/],
    ["{", /expected a JSON object of row names and spellings/],
    ["7", /expected a JSON object of row names and spellings/],
    ["null", /expected a JSON object of row names and spellings/],
    ['["job.stop"]', /expected a JSON object of row names and spellings/],
    ['{"job.fly": null}', /job\.fly: expected a row of the table/],
    ['{"jobs.stop": "POST jobs/{id}/stop"}', /jobs\.stop: expected a row of the table/],
    ['{"job.stop": 7}', /job\.stop: /],
    ['{"job.stop": ""}', /job\.stop: expected a method and a path/],
    ['{"job.stop": "jobs/{id}/stop"}', /job\.stop: expected a method and a path/],
    ['{"job.stop": "FETCH jobs/{id}/stop"}', /job\.stop: expected a method and a path/],
    ['{"job.stop": "POST http://elsewhere.example/{id}"}', /job\.stop: expected a method and a path/],
    ['{"job.stop": "POST ../../{id}"}', /job\.stop: expected a method and a path/],
    ['{"job.stop": "POST jobs/{id}/stop?force=1"}', /job\.stop: expected a method and a path/],
    ['{"job.stop": null, "job.read": "x", "job.fly": null}', /(?=.*job\.read: )(?=.*job\.fly: )/],
    // Servers take no double slash, and a row's path goes behind one.
    ['{"job.stop": "POST /jobs/{id}/stop"}', /job\.stop: expected a method and a path/],
    ['{"job.stop": "POST jobs/{id/stop"}', /job\.stop: /],
    // Nothing fills a hole that the row does not have.
    ['{"job.stop": "POST {owner}/{project}/jobs/{number}/stop"}', /job\.stop: /],
  ];
  test.each(faults)("%s is refused at the start, with the variable's name", (rows, told) => {
    let fault: unknown;
    try {
      readConfig({ UPSTREAM_ROWS: rows });
    } catch (thrown) {
      fault = thrown;
    }
    expect(fault).toBeInstanceOf(ConfigError);
    expect((fault as ConfigError).message).toMatch(/^UPSTREAM_ROWS: /);
    expect((fault as ConfigError).message).toMatch(told);
  });
});
