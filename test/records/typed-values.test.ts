import { expect, onTestFinished, test, vi } from "vitest";
import { RELEASE_04, startBefore } from "../support/gateway.ts";

/* Values that the service sends as JSON, in the shape that known servers use. */

const run = (given: object) => ({ "ada/mnist/experiments/1/": { id: 1, ...given } });

const AMOUNTS = "cpuCores { request limit } memoryMiB { request limit } gpus { request limit } raw";

test("returns the requested resources with their units", async () => {
  const memory = { requests: 512, limits: 1_024 };
  const raw = { cpu: { requests: 0.5, limits: 2 }, memory, gpu: null };
  const { ask, service } = await startBefore(run({ resources: raw }), RELEASE_04);
  expect(await ask(`{ experiment(id: "ada.mnist.1") { resources { ${AMOUNTS} } } }`)).toEqual({
    data: {
      experiment: {
        resources: {
          cpuCores: { request: 0.5, limit: 2 },
          memoryMiB: { request: 512, limit: 1_024 },
          gpus: null,
          raw,
        },
      },
    },
  });
  expect(service.inOrder()).toEqual(["GET ada/mnist/experiments/1/"]);
});

test("returns null for the resources and data of a run without them", async () => {
  const { ask } = await startBefore(run({ resources: null, data_refs: null }), RELEASE_04);
  const fields = `resources { ${AMOUNTS} } dataReferences { name version }`;
  expect(await ask(`{ experiment(id: "ada.mnist.1") { ${fields} } }`)).toEqual({
    data: { experiment: { resources: null, dataReferences: null } },
  });
});

test("lists a run's data by name, with versions as strings or JSON", async () => {
  const { ask } = await startBefore(run({ data_refs: { train: "abc", test: { v: [1] } } }), RELEASE_04);
  expect(await ask(`{ experiment(id: "ada.mnist.1") { dataReferences { name version } } }`)).toEqual({
    data: {
      experiment: {
        dataReferences: [
          { name: "test", version: '{"v":[1]}' },
          { name: "train", version: "abc" },
        ],
      },
    },
  });
});

test("returns parameters as numbers and strings", async () => {
  const json = `{"id": 1, "declarations": {
    "act": "relu", "flag": true, "layers": [1, "a", {"b": null}], "lr": 0.01, "none": null, "seed": 12345678901234567890, "text": "0.5"
  }}`;
  const { ask } = await startBefore(
    () => ({ text: json, headers: { "content-type": "application/json" } }),
    RELEASE_04,
  );
  expect(await ask(`{ experiment(id: "ada.mnist.1") { parameters { name number text } } }`)).toEqual({
    data: {
      experiment: {
        parameters: [
          { name: "act", number: null, text: "relu" },
          { name: "flag", number: null, text: "true" },
          { name: "layers", number: null, text: '[1,"a",{"b":null}]' },
          { name: "lr", number: 0.01, text: "0.01" },
          { name: "none", number: null, text: "null" },
          { name: "seed", number: 12345678901234567000, text: "12345678901234567890" },
          { name: "text", number: null, text: "0.5" },
        ],
      },
    },
  });
});

test("returns a long parameter as a string in several fields", async () => {
  const long = Array.from({ length: 20_000 }, (_, index) => index);
  const { ask } = await startBefore(run({ declarations: { long } }), RELEASE_04);
  const fields = Array.from({ length: 3 }, (_, index) => `a${index}: parameters { text }`).join(" ");
  const shown = [{ text: JSON.stringify(long) }];
  expect(await ask(`{ experiment(id: "ada.mnist.1") { ${fields} } }`)).toEqual({
    data: { experiment: { a0: shown, a1: shown, a2: shown } },
  });
});

const GPUS = "gpus { index name serial uuid memoryBytes raw }";

const node = (gpus: unknown) => ({
  "cluster/": { nodes: [{ name: "n", sequence: 1 }] },
  "nodes/1": { name: "n", sequence: 1, gpus },
});

test("lists the GPUs of a machine", async () => {
  const raw = { uuid: "3c", index: 0, serial: "GPU-1", name: "Tesla K80", memory: 11_995_578_368, x: 1 };
  const { ask, service } = await startBefore(node([raw, {}]), RELEASE_04);
  const unknown = { index: null, name: null, serial: null, uuid: null, memoryBytes: null };
  const { memory: memoryBytes, x: _, ...known } = raw;
  expect(await ask(`{ node(id: "n") { ${GPUS} } }`)).toEqual({
    data: {
      node: {
        gpus: [
          { ...known, memoryBytes, raw },
          { ...unknown, raw: {} },
        ],
      },
    },
  });
  expect(service.inOrder()).toEqual(["GET cluster/", "GET nodes/1"]);
});

test("returns null and logs a warning if GPUs are not objects", async () => {
  const { ask, logged } = await startBefore(node([{ index: 0 }, "GPU-1"]), RELEASE_04);
  expect(await ask(`{ node(id: "n") { ${GPUS} } }`)).toEqual({ data: { node: { gpus: null } } });
  expect(logged()).toContain('"place":"gpus"');
});

test("returns the machine and the versions of a cluster", async () => {
  const details = {
    sequence: 1,
    name: "n",
    docker_version: "18.6",
    kubelet_version: "v1.11",
    kernel_version: "4.15",
    os_image: "Ubuntu",
    schedulable_state: true,
    schedulable_taints: false,
    is_current: true,
  };
  const version = {
    major: "1",
    minor: "11",
    platform: "linux/amd64",
    compiler: "gc",
    go_version: "go1.10",
    build_date: "2018-09-01T00:00:00Z",
    git_version: "v1.11.3",
    git_commit: "a4529464e4629c21224b3d52edfe0ea91b072862",
    git_tree_state: "clean",
  };
  const { ask, service } = await startBefore(
    { "cluster/": { version_api: version, nodes: [{ name: "n", sequence: 1 }] }, "nodes/1": details },
    RELEASE_04,
  );
  const platform = "major minor platform compiler goVersion buildDate gitVersion gitCommit gitTreeState";
  const machine =
    "name dockerVersion kubeletVersion kernelVersion osImage schedulableState schedulableTaints isCurrent";
  expect(await ask(`{ cluster { platformVersion { ${platform} } nodes { ${machine} } } }`)).toEqual({
    data: {
      cluster: {
        platformVersion: {
          major: "1",
          minor: "11",
          platform: "linux/amd64",
          compiler: "gc",
          goVersion: "go1.10",
          buildDate: "2018-09-01T00:00:00Z",
          gitVersion: "v1.11.3",
          gitCommit: "a4529464e4629c21224b3d52edfe0ea91b072862",
          gitTreeState: "clean",
        },
        nodes: [
          {
            name: "n",
            dockerVersion: "18.6",
            kubeletVersion: "v1.11",
            kernelVersion: "4.15",
            osImage: "Ubuntu",
            schedulableState: true,
            schedulableTaints: false,
            isCurrent: true,
          },
        ],
      },
    },
  });
  expect(service.inOrder()).toEqual(["GET cluster/", "GET nodes/1"]);
});

test("returns the settings of a hyperparameter search", async () => {
  const matrix = {
    lr: { linspace: "0.1:1:10" },
    momentum: { linspace: { start: 0.1, stop: 1, num: 10 } },
    units: { values: [32, 64] },
  };
  const rules = [{ metric: "loss", value: 0.1, optimization: "minimize" }];
  const hptuning = {
    concurrency: 2,
    early_stopping: rules,
    matrix,
    random_search: { n_experiments: 5 },
    seed: 7,
  };
  const { ask } = await startBefore({ "ada/mnist/groups/1/": { id: 1, hptuning } }, RELEASE_04);
  const definition =
    "... on MatrixValues { values } ... on MatrixLinspace { start stop num } ... on MatrixOther { raw }";
  const fields = `concurrency earlyStopping seed randomSearch { experimentCount } matrix { name definition { ${definition} } }`;
  expect(await ask(`{ group(id: "ada.mnist.1") { hptuning { ${fields} } } }`)).toEqual({
    data: {
      group: {
        hptuning: {
          concurrency: 2,
          earlyStopping: rules,
          seed: 7,
          randomSearch: { experimentCount: 5 },
          matrix: [
            { name: "lr", definition: { raw: { linspace: "0.1:1:10" } } },
            { name: "momentum", definition: { start: 0.1, stop: 1, num: 10 } },
            { name: "units", definition: { values: [32, 64] } },
          ],
        },
      },
    },
  });
});

test.each([
  ["PENDING", ["CREATED", "RESUMING", "BUILDING", "SCHEDULED", "UNSCHEDULABLE"]],
  ["ACTIVE", ["STARTING", "RUNNING", "WARNING", "RETRYING", "STOPPING"]],
  ["SUCCEEDED", ["SUCCEEDED", "DONE"]],
  ["FAILED", ["FAILED", "UPSTREAM_FAILED"]],
  ["STOPPED", ["STOPPED", "SKIPPED"]],
  ["UNKNOWN", ["UNKNOWN"]],
])("returns each status of the phase %s", async (phase, statuses) => {
  const { ask } = await startBefore(
    Object.fromEntries(
      statuses.map((status, index) => [
        `ada/mnist/experiments/${index}/`,
        { id: index, last_status: status.toLowerCase() },
      ]),
    ),
  );
  const fields = statuses.map(
    (_, index) => `r${index}: experiment(id: "ada.mnist.${index}") { status phase }`,
  );
  const rows = statuses.map((status, index) => [`r${index}`, { status, phase }]);
  expect(await ask(`{ ${fields.join(" ")} }`)).toEqual({ data: Object.fromEntries(rows) });
});

test("returns the limits of the gateway, which its settings change", async () => {
  const env = { MAX_ROOT_FIELDS: "7", MAX_PAGE_SIZE: "50", MAX_SCANNED_ROWS: "600" };
  const { ask } = await startBefore({}, env);
  const limits = {
    maxRootFields: 7,
    maxPageSize: 50,
    maxScannedRows: 600,
    maxIds: 100,
    maxLogBytes: 1_048_576,
  };
  expect(await ask(`{ gateway { limits { ${Object.keys(limits).join(" ")} } } }`)).toEqual({
    data: { gateway: { limits } },
  });
});

test.each([
  ["2026-01-01T10:00:00Z", "2026-01-01T10:00:05.500Z", 5.5],
  // These are times in UTC as well, whatever the time zone of the gateway.
  ["2026-01-01T10:00:00", "2026-01-01 10:00:05", 5],
  ["2026-01-01T11:00:00+01:00", "2026-01-01 10:00:05", 5],
  // The clocks of two machines differ.
  ["2026-01-01T10:00:05Z", "2026-01-01T10:00:00Z", 0],
  ["2026-01-01T10:00:00Z", "soon", null],
])("a run from %s to %s lasts %d seconds", async (started_at, finished_at, durationSeconds) => {
  vi.stubEnv("TZ", "America/New_York");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { ask } = await startBefore(run({ last_status: "succeeded", started_at, finished_at }), RELEASE_04);
  expect(await ask(`{ experiment(id: "ada.mnist.1") { durationSeconds } }`)).toEqual({
    data: { experiment: { durationSeconds } },
  });
});

test.each([
  ["branch", { branch: "main" }],
  ["commit", { commit: "main" }],
  ["head", {}],
  ["git_url", { url: "main" }],
])("a code reference may consist of %s alone", async (key, shown) => {
  const codeOf = async (value: string) => {
    const reference = { [key]: value, is_dirty: true };
    const { ask } = await startBefore(
      { ...run({}), "ada/mnist/experiments/1/coderef": reference },
      RELEASE_04,
    );
    return ask(`{ experiment(id: "ada.mnist.1") { codeReference { branch commit isDirty url } } }`);
  };
  const whole = { branch: null, commit: null, isDirty: true, url: null, ...shown };
  expect(await codeOf("main")).toEqual({ data: { experiment: { codeReference: whole } } });
  expect(await codeOf("")).toEqual({ data: { experiment: { codeReference: null } } });
});
