import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { yamlOf } from "../src/yaml.ts";

const word = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "true",
    "No",
    "null",
    "12",
    "1:30",
    "1e3",
    "a: b",
    "a #b",
    "- a",
    "{{ lr }}",
    "<<",
    "=",
    "a\nb",
  ),
);

/** Any JSON value. */
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    word,
    fc.oneof(
      fc.boolean(),
      fc.constant(null),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).filter((each) => !Object.is(each, -0)),
    ),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(word, tie("value"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

test("reads back every JSON value from its YAML, by the rules of YAML 1.1 and of 1.2", () => {
  fc.assert(
    fc.property(value, (given) => {
      const text = yamlOf(given);
      for (const version of ["1.1", "1.2"] as const) expect(parse(text, { version })).toEqual(given);
    }),
  );
});

test("writes a specification as people do", () => {
  const written = yamlOf({
    version: 1,
    kind: "experiment",
    build: { image: "python:3.6", build_steps: ["pip install -U numpy"], env: [] },
    run: { cmd: "python train.py --lr={{ lr }}" },
    rate: 1e-7,
    matrix: [[1, 2], { a: "1", b: "yes" }],
  });
  expect(written).toBe(`version: 1
kind: experiment
build:
  image: python:3.6
  build_steps:
    - pip install -U numpy
  env: []
run:
  cmd: python train.py --lr={{ lr }}
rate: 1.0e-7
matrix:
  - - 1
    - 2
  - a: "1"
    b: "yes"
`);
});
