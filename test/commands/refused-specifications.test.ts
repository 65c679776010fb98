import { expect, test } from "vitest";
import { startAccepting } from "../support/any-command.ts";
import { errorsOf } from "../support/errors.ts";
import { startGateway } from "../support/gateway.ts";

/*
 * Specifications that a release rejects, ignores or crashes on. They are rejected before anything is sent, with the position in the YAML.
 * The first line of each is `kind: …`, the second one `run: {cmd: x}` if there is one.
 */

const RUN = "run: {cmd: x}";

const TEXTS: readonly (readonly [kind: string, text: string, issue: string])[] = [
  [
    "experiment",
    `${RUN}\nx: !foo 1`,
    "expected YAML that the server can read, got a tag at line 3, column 9",
  ],
  [
    "experiment",
    `${RUN}\nx: !!python/name:os.system ''`,
    "expected YAML that the server can read, got a tag at line 3, column 28",
  ],
  [
    "experiment",
    `${RUN}\n? [a]\n: 1`,
    "expected YAML that the server can read, got a list or an object as a key at line 3, column 3",
  ],
  [
    "experiment",
    `${RUN}\nx: =`,
    "expected YAML that the server can read, got a plain date, `=`, `<<` or an incomplete number at line 3, column 4",
  ],
  [
    "experiment",
    `${RUN}\nx: 2020-13-45`,
    "expected YAML that the server can read, got a plain date, `=`, `<<` or an incomplete number at line 3, column 4",
  ],
  [
    "experiment",
    `${RUN}\nx: "\u0000"`,
    "expected YAML that the server can read, got a control character or line separator at line 3, column 5",
  ],
  [
    "experiment",
    `${RUN}\nx: 0b_`,
    "expected YAML that the server can read, got a plain date, `=`, `<<` or an incomplete number at line 3, column 4",
  ],
  ...["\u2028", "\u2029", "\u0085", "\r"].map(
    (separator) =>
      [
        "experiment",
        `${RUN}\n# a comment${separator}kind: group`,
        "expected YAML that the server can read, got a control character or line separator at line 3, column 12",
      ] as const,
  ),
  [
    "experiment",
    `${RUN}\nx: [&a 1, &a 2]`,
    "expected YAML that the server can read, got an anchor that is not unique, or with characters other than letters, digits, - and _ at line 3, column 14",
  ],
  [
    "experiment",
    `${RUN}\nx: *none`,
    "expected an alias of a complete value, got another at line 3, column 4",
  ],
  [
    "experiment",
    `${RUN}\nx: {<<: 1}`,
    "expected an object or a list of objects under <<, got another value at line 3, column 4",
  ],
  [
    "experiment",
    `${RUN}\nhptuning: {concurrency: 1}`,
    "expected no section `hptuning` in kind: experiment, got one",
  ],
  [
    "experiment",
    `${RUN}\ndeclarations: [1]`,
    "expected the section `declarations` to be an object with keys, got another value",
  ],
  ["experiment", "run: ''", "expected the section `run` to be an object with keys, got another value"],
  ["experiment", "run: {}", "expected the section `run` to be an object with keys, got another value"],
  ["job", `${RUN}\ndeclarations: {a: 1}`, "expected no section `declarations` in kind: job, got one"],
  ...[
    ["a:\tb", 3],
    ["a: b\t# c", 5],
    ["a: [\tb]", 5],
    ["a: |\t\n  b", 5],
    ["a: b\n\t", 1, 4],
  ].map(
    ([text, column, line = 3]) =>
      [
        "experiment",
        `${RUN}\n${text}`,
        `expected YAML that the server can read, got a tab outside of quotes at line ${line}, column ${column}`,
      ] as const,
  ),
  [
    "experiment",
    `${RUN}\nx: !!map [a]`,
    "expected YAML that the server can read, got a tag at line 3, column 10",
  ],
  [
    "group",
    `${RUN}\nhptuning: {'${"a".repeat(1_023)}': 1}`,
    "expected YAML that the server can read, got a key of more than 1024 characters at line 3, column 12",
  ],
  ["group", RUN, "expected a section `hptuning`, got none"],
  ["group", `${RUN}\nhptuning:`, "expected a section `hptuning`, got none"],
];

const MUTATIONS: Readonly<Record<string, string>> = {
  experiment: "createExperiment",
  job: "createJob",
  group: "createGroup",
};

test.each(TEXTS)(
  "refuses the specification of a new %s before anything is sent: %j",
  async (kind, text, issue) => {
    const service = await startAccepting();
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const name = MUTATIONS[kind] ?? "";
    const answer = await ask(
      `mutation ($text: String!) { ${name}(project: "ada.mnist", input: { specificationText: $text }) { __typename } }`,
      { text: `kind: ${kind}\n${text}` },
    );
    expect(errorsOf(answer)).toMatchObject([
      { code: "BAD_USER_INPUT", message: `input.specificationText: ${issue}` },
    ]);
    expect(service.seen()).toEqual([]);
  },
);

test("sends a specification with tabs in quotes, comments and blocks", async () => {
  const service = await startAccepting();
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const text = `kind: job\n${RUN}\na: 'b\tc' #\td\ne: "f\tg"\nh: |\n  i\tj\n`;
  await ask(
    `mutation ($text: String!) { createJob(project: "ada.mnist", input: { specificationText: $text }) { __typename } }`,
    { text },
  );
  expect(service.seen().map(({ body }) => JSON.parse(body) as unknown)).toEqual([{ config: text }]);
});

test("refuses a group's specification object with keys that the server cannot read", async () => {
  const service = await startAccepting();
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const create = (key: string) =>
    ask(
      `mutation ($it: JSON!) { createGroup(project: "ada.mnist", input: { specification: $it }) { __typename } }`,
      { it: { kind: "group", run: { cmd: "x" }, hptuning: { matrix: { [key]: { values: [1] } } } } },
    );
  expect(errorsOf(await create("\u007f".repeat(171)))).toMatchObject([
    {
      code: "BAD_USER_INPUT",
      message: "input.specification: expected keys of at most 1024 characters, got 1028",
    },
  ]);
  expect(service.seen()).toEqual([]);
  await create("a".repeat(1_022));
  expect(service.seen()).toHaveLength(1);
});

// Before Node.js 21 a long integer is a string.
const isRounded = !("rawJSON" in JSON);

test.each([...(isRounded ? ["a: 9007199254740993", "a: [-9007199254740993]"] : []), "~: 1", "a: |\n    b"])(
  "refuses parameters if converting %j would change the value",
  async (text) => {
    const service = await startAccepting();
    const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
    const answer = await ask(
      `mutation ($text: String!) {
      createExperiment(project: "ada.mnist", input: {
        specificationText: $text, parameters: [{ name: "lr", value: 1 }]
      }) { __typename }
    }`,
      { text: `kind: experiment\n${RUN}\ndeclarations:\n  ${text}` },
    );
    expect(errorsOf(answer)).toMatchObject([
      {
        code: "BAD_USER_INPUT",
        message: expect.stringContaining(
          "because the parameters are sent as values, got",
        ) as unknown as string,
      },
    ]);
    expect(service.seen()).toEqual([]);
  },
);

test("sends parameters if only the end lacks a line break", async () => {
  const service = await startAccepting();
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const text = `kind: experiment\n${RUN}\ndeclarations:\n  note: |\n    a\n  lr: 0.1`;
  const { errors } = await ask(
    `mutation ($text: String!) {
      createExperiment(project: "ada.mnist", input: {
        specificationText: $text, parameters: [{ name: "lr", value: 1 }]
      }) { __typename }
    }`,
    { text },
  );
  expect(errors).toBeUndefined();
  expect(service.seen().map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    { config: text, declarations: { note: "a\n", lr: 1 } },
  ]);
});

test("keeps the kind and version of a build whose format is converted", async () => {
  const service = await startAccepting();
  const { ask } = await startGateway({ upstream: service, env: { UPSTREAM_PROFILE: "polyaxon-0.4" } });
  const specification = { kind: "build", build: { image: "a", kind: "job", version: 7 } };
  await ask(
    `mutation ($it: JSON!) { createBuildJob(project: "ada.mnist", input: { specification: $it }) { __typename } }`,
    { it: specification },
  );
  expect(service.seen().map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    { config: { image: "a", kind: "build", version: 1 } },
  ]);
});
