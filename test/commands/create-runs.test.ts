import { describe, expect, test } from "vitest";
import { errorsOf, failure, outcomeOf } from "../support/errors.ts";
import { onWire, startFake, type FakeResponse } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { globalId } from "../support/ids.ts";
import { lineOf, readRecording } from "../support/replay.ts";

/*
 * Creates experiments, jobs, build jobs and groups from a specification. The requests must equal the recorded requests, and invalid inputs
 * must be rejected before any request.
 */

const FILES = { "polyaxon-0.2": "0.2.0-creates", "polyaxon-0.4": "0.4.4-creates" } as const;
type Release = keyof typeof FILES;

/** Starts a gateway in front of a server that sends the same response to each request. */
async function start(
  profile: string,
  response: FakeResponse = { json: { id: 7, name: null, tags: null }, status: 201 },
  more: Readonly<Record<string, string>> = {},
) {
  const service = await startFake(() => response);
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: profile, ...more } });
  const create = (kind: string, input: object, selected = "name tags", project = "ada.mnist") => {
    const field = `${kind.charAt(0).toLowerCase()}${kind.slice(1)}`;
    const query = `mutation ($project: ID!, $input: Create${kind}Input!) { create${kind}(project: $project, input: $input) { ${field} { ${selected} } } }`;
    return ask(query, { project, input });
  };
  const sent = () =>
    service.seen().map((seen) => [onWire(seen), ...(seen.body ? [JSON.parse(seen.body) as unknown] : [])]);
  return { create, sent };
}

const TEXT = lineOf(readRecording("0.4.4-creates"), "an experiment from text (config)").body as {
  config: string;
};
const JOB_TEXT = lineOf(readRecording("0.4.4-creates"), "a job from text (config)").body as {
  config: string;
};
const GROUP = lineOf(readRecording("0.4.4-creates"), "a group from text").body as { content: string };
const JOB = { version: 1, kind: "job", build: { image: "x" }, run: { cmd: "echo 1" } };
const BUILD = { version: 1, kind: "build", build: { image: "x" } };
const TOP_BUILD = {
  version: 1,
  kind: "build",
  image: "tensorflow:1.4",
  build_steps: ["pip install x"],
};

const BOTH: readonly Release[] = ["polyaxon-0.2", "polyaxon-0.4"];
const CREATED: readonly (readonly [
  name: string,
  releases: readonly Release[],
  kind: string,
  input: object,
])[] = [
  ["an experiment from text (config)", BOTH, "Experiment", { specificationText: TEXT.config }],
  ["a job from text (config)", BOTH, "Job", { specificationText: JOB_TEXT.config }],
  [
    "a job from an object (config)",
    ["polyaxon-0.4"],
    "Job",
    { specification: JOB, name: "tidy", tags: ["t"] },
  ],
  ["a build from an object (config)", ["polyaxon-0.2"], "BuildJob", { specification: BUILD }],
  [
    "a build from an object (config), its sections at the top",
    ["polyaxon-0.4"],
    "BuildJob",
    { specification: TOP_BUILD, name: "image" },
  ],
  ["a group from text", BOTH, "Group", { specificationText: GROUP.content, name: "sweep", tags: ["s"] }],
  [
    "a selection with experiments of the project",
    ["polyaxon-0.4"],
    "Group",
    { experiments: ["alice.created2.805", globalId("Experiment:alice/created2/806")], name: "chosen-3" },
  ],
  [
    "an experiment into a group",
    ["polyaxon-0.4"],
    "Experiment",
    {
      specification: { version: 1, kind: "experiment", build: { image: "x" }, run: { cmd: "y" } },
      group: "alice.created2.41",
    },
  ],
];

const recorded = CREATED.flatMap(([name, releases, ...row]) =>
  releases.map((release) => [release, name, ...row] as const),
);

test.each(recorded)("sends requests as recorded from %s: %s", async (release, name, kind, input) => {
  const { path, body, json } = lineOf(readRecording(FILES[release]), name);
  const [, , , owner, project] = path.split("/");
  const { create, sent } = await start(release, { json, status: 201 });
  const field = kind === "BuildJob" ? "buildJob" : kind.toLowerCase();
  const answer = await create(kind, input, "name", `${owner}.${project}`);
  expect(answer).toEqual({ data: { [`create${kind}`]: { [field]: { name: Object(json).name } } } });
  expect(sent()).toEqual([[`POST ${path.replace("/api/v1/", "")}`, body]]);
});

describe("a new run", () => {
  test("is read only for fields missing from the server's response", async () => {
    const { json } = lineOf(readRecording("0.4.4-creates"), "an experiment into a group");
    const { create, sent } = await start("polyaxon-0.4", {
      json: { ...Object(json), last_status: "created" },
      status: 201,
    });
    const input = { specificationText: "kind: experiment\nrun: {cmd: x}" };
    const answer = await create("Experiment", input, "uniqueName name tags");
    expect(answer).toEqual({
      data: {
        createExperiment: { experiment: { uniqueName: "alice.created2.41.815", name: null, tags: null } },
      },
    });
    expect(sent()).toHaveLength(1);
    await create("Experiment", input, "status");
    expect(sent().map(([request]) => request)).toEqual([
      "POST ada/mnist/experiments",
      "POST ada/mnist/experiments",
      "GET ada/mnist/experiments/815/",
    ]);
  });

  test("keeps specification parameters that the input omits", async () => {
    const { create, sent } = await start("polyaxon-0.4");
    const parameters = [
      { name: "lr", value: 0.2 },
      { name: "act", value: "relu" },
    ];
    await create("Experiment", { specificationText: TEXT.config, parameters });
    const declarations = { lr: 0.2, batch: 32, act: "relu" };
    expect(sent()).toEqual([["POST ada/mnist/experiments", { config: TEXT.config, declarations }]]);
  });

  test("of a group is sent with its specification object as a string", async () => {
    const { create, sent } = await start("polyaxon-0.4");
    const values = [1e-7, 1.5e-7, 3, 'a"1e-7', "\u009f"];
    const specification = { kind: "group", hptuning: { matrix: { lr: { values } } }, run: { cmd: "x" } };
    expect(await create("Group", { specification })).not.toHaveProperty("errors");
    const written = String.raw`[1.0e-7,1.5e-7,3,"a\"1e-7","\u009f"]`;
    const content = `{"kind":"group","hptuning":{"matrix":{"lr":{"values":${written}}}},"run":{"cmd":"x"}}`;
    expect(sent()).toEqual([["POST ada/mnist/groups", { content }]]);
  });

  test.each([
    ["polyaxon-0.4", BUILD, { version: 1, kind: "build", image: "x" }],
    [
      "polyaxon-0.2",
      TOP_BUILD,
      { version: 1, kind: "build", build: { image: "tensorflow:1.4", build_steps: ["pip install x"] } },
    ],
  ])("of a build is converted to the format of %s if necessary", async (profile, specification, config) => {
    const { create, sent } = await start(profile);
    await create("BuildJob", { specification });
    await create("BuildJob", { specificationText: JSON.stringify(specification) });
    expect(sent()).toEqual([
      ["POST ada/mnist/builds", { config }],
      ["POST ada/mnist/builds", { config }],
    ]);
  });

  test("reports its name as taken when the server crashes", async () => {
    const html = { text: "", status: 405, headers: { "content-type": "text/html" } };
    const { create } = await start("polyaxon-0.2", html);
    const route = "{owner}/{project}/experiments";
    expect(outcomeOf(await create("Experiment", { specificationText: TEXT.config, name: "base" }))).toEqual({
      data: { createExperiment: null },
      errors: [
        failure(
          "createExperiment",
          "BAD_USER_INPUT",
          'input.name: expected a name that is not taken, got "base": the server failed, as it does when the name is taken',
          { upstream: { method: "POST", route, status: 405 }, outcome: "unknown" },
        ),
      ],
    });
  });

  test("counts towards its caller's memory before its YAML is parsed", async () => {
    const { create, sent } = await start("polyaxon-0.4", undefined, { MAX_UPSTREAM_BYTES: "1000000" });
    const specificationText = `kind: experiment\nrun: x\na: [${"1,".repeat(5_500)}]`;
    const message =
      "This caller's operations need more than 1000000 bytes of memory at a time; request less at once.";
    expect(await create("Experiment", { specificationText })).toEqual({
      data: null,
      errors: [
        {
          message,
          extensions: { code: "REQUEST_LIMIT_EXCEEDED", outcome: "unknown", requestId: expect.any(String) },
        },
      ],
    });
    expect(sent()).toEqual([]);
  });

  test("is sent once, and has an unknown outcome if the server fails", async () => {
    const { create, sent } = await start("polyaxon-0.4", { text: "", status: 502 });
    expect(await create("Job", { specification: JOB })).toMatchObject({
      errors: [{ extensions: { outcome: "unknown" } }],
    });
    expect(sent()).toHaveLength(1);
  });
});

const RUN = "kind: experiment\nrun: {cmd: x}";
const NONE = "input: expected `specification` or `specificationText`";

const REFUSED: readonly (readonly [profile: string, kind: string, input: object, message: string])[] = [
  ["polyaxon-0.4", "Experiment", {}, `${NONE}, got neither`],
  ["polyaxon-0.4", "Job", { specification: JOB, specificationText: RUN }, `${NONE}, got both`],
  [
    "polyaxon-0.4",
    "Group",
    { experiments: [], specificationText: RUN },
    "input: expected either `experiments` or a specification, got both",
  ],
  [
    "polyaxon-0.2",
    "Experiment",
    { specificationText: "kind: experiment\nrun:\n  cmd: [x" },
    "input.specificationText: expected YAML, got a syntax error at line 3, column 10 (BAD_INDENT)",
  ],
  [
    "polyaxon-0.4",
    "Group",
    { specificationText: "a: 1\n---\nb: 2" },
    "input.specificationText: expected one document, got several",
  ],
  [
    "polyaxon-0.4",
    "Job",
    { specificationText: "" },
    "input.specificationText: expected an object in YAML, got nothing",
  ],
  [
    "polyaxon-0.4",
    "Job",
    { specificationText: "x".repeat(16_385) },
    "input.specificationText: expected at most 16384 characters, got 16385",
  ],
  [
    "polyaxon-0.4",
    "Job",
    { specificationText: "text" },
    "input.specificationText: expected an object in YAML, got another value",
  ],
  [
    "polyaxon-0.4",
    "Job",
    { specification: [1] },
    "input.specification: expected an object, got another value",
  ],
  [
    "polyaxon-0.4",
    "Job",
    { specificationText: RUN },
    'input.specificationText: expected kind: job, got kind: "experiment"',
  ],
  [
    "polyaxon-0.4",
    "Experiment",
    { specification: { run: { cmd: "x" } } },
    "input.specification: expected kind: experiment, got none",
  ],
  [
    "polyaxon-0.4",
    "Experiment",
    { specification: { version: 1, kind: "experiment" } },
    "input.specification: expected a section `run` or `build`, got none",
  ],
  [
    "polyaxon-0.4",
    "Experiment",
    { specificationText: RUN, name: "a b" },
    'input.name: expected letters, digits, - and _, got "a b"',
  ],
  [
    "polyaxon-0.4",
    "Experiment",
    { specificationText: RUN, group: "bob.mnist.5" },
    'input.group: expected an id in the project ada.mnist, got "bob.mnist.5"',
  ],
  [
    "polyaxon-0.4",
    "Group",
    { experiments: ["ada.other.5"] },
    'input.experiments[0]: expected an id in the project ada.mnist, got "ada.other.5"',
  ],
  ...["yes", "1e-3", "0777", "1_000", ".nan", "1:30", "&a 1", "0x1f"].flatMap((scalar) =>
    scalar.startsWith("&")
      ? []
      : [
          [
            "polyaxon-0.4",
            "Experiment",
            {
              specificationText: `${RUN}\ndeclarations: {a: ${scalar}, lr: 1}`,
              parameters: [{ name: "lr", value: 2 }],
            },
            `input.specificationText: expected plain numbers and quoted strings, because the parameters are sent as values, got "${scalar}"`,
          ] as const,
        ],
  ),
  [
    "polyaxon-0.4",
    "Experiment",
    { specificationText: RUN, group: "ada.mnist.groups.9007199254740993" },
    'input.group: expected an id below 2^53, got "ada.mnist.groups.9007199254740993"',
  ],
  [
    "polyaxon-0.4",
    "Job",
    { specification: { ...JOB, x: "x".repeat(16_384) } },
    "input.specification: expected at most 16384 characters of JSON, got 16462",
  ],
  [
    "polyaxon-0.4",
    "Experiment",
    { specificationText: RUN, parameters: [1, 2].map((value) => ({ name: "lr", value })) },
    'input.parameters: expected each name once, got "lr" twice',
  ],
  [
    "polyaxon-0.2",
    "Experiment",
    { specificationText: RUN, group: "ada.mnist.5" },
    "createExperiment: The server behind this gateway does not offer `group` as input: it lacks the capability `CREATE_EXPERIMENT_GROUP`.",
  ],
  [
    "polyaxon-0.2",
    "Group",
    { experiments: ["ada.mnist.5"] },
    "createGroup: The server behind this gateway does not offer `experiments` as input: it lacks the capability `CREATE_GROUP_EXPERIMENTS`.",
  ],
  [
    "polyaxon-0.2",
    "Job",
    { specification: JOB, tags: ["a"] },
    "createJob: The server behind this gateway does not offer `tags` as input: it lacks the capability `CREATE_JOB_TAGS`.",
  ],
  [
    "document",
    "Job",
    { specification: JOB },
    "createJob: The server behind this gateway does not offer POST {owner}/{project}/jobs: it lacks the capability `CREATE_RUNS`.",
  ],
];

test.each(REFUSED)(
  "%s: refuses a new %s before anything is sent: %j",
  async (profile, kind, input, message) => {
    const { create, sent } = await start(profile);
    expect(errorsOf(await create(kind, input)).map((error) => error.message)).toEqual([message]);
    expect(sent()).toEqual([]);
  },
);
