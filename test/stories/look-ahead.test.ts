import fc from "fast-check";
import {
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
} from "graphql";
import { expect, onTestFinished, test } from "vitest";
import { startDemo } from "../../src/demo/service.ts";
import { schema } from "../../src/graphql/schema.ts";
import { callsOf, startGateway, tokenOf } from "../harness.ts";

/** Where a random operation begins. All of it is there: what is missing is told at another place without look-ahead. */
const ROOTS: readonly (readonly [field: string, type: string])[] = [
  ['experiment(id: "ada.mnist.42")', "Experiment"],
  ['experiment(id: "ada.mnist.1.9")', "Experiment"],
  ['experiment(id: "RXhwZXJpbWVudDphZGEvbW5pc3QvNDI")', "Experiment"],
  ['job(id: "ada.mnist.jobs.1")', "Job"],
  ['job(id: "ada.mnist.jobs.5")', "Job"],
  ['buildJob(id: "ada.mnist.builds.1")', "BuildJob"],
  ['group(id: "ada.mnist.1")', "Group"],
  ['entity(id: "RXhwZXJpbWVudDphZGEvbW5pc3QvNDI")', "Experiment"],
  ['run(id: "Sm9iOmFkYS9tbmlzdC8x")', "Job"],
  ['node(name: "node-1")', "Node"],
  ["node(sequence: 2)", "Node"],
  ["cluster", "Cluster"],
  ["viewer", "User"],
  ['project(owner: "ada", name: "mnist")', "Project"],
];

/** Fields that answer differently from one moment to the next, are only there to refuse, or name what one run has. */
const LEFT_OUT = new Set([
  "durationSeconds",
  "Group.experiments",
  "User.projects",
  ...["experiments", "jobs", "buildJobs", "groups"].map((list) => `Project.${list}`),
  "Experiment.job",
]);

const ARGUMENTS: Readonly<Record<string, string>> = {
  "Project.experiment": '(internalId: "42")',
  "Project.job": '(internalId: "1")',
  "Project.buildJob": '(internalId: "2")',
  "Project.group": '(internalId: "1")',
  "Experiment.lastMetricValue": '(name: "loss")',
  "MetricRecord.value": '(name: "loss")',
  "Experiment.metrics": "(first: 2)",
  "Experiment.logs": "(maxBytes: 50)",
};

function objectType(name: string): GraphQLObjectType {
  const type = schema.getType(name);
  if (!isObjectType(type)) throw new TypeError(`${name} is no object type`);
  return type;
}

const usable = (type: GraphQLObjectType) =>
  Object.values(type.getFields()).filter(
    ({ name }) => !LEFT_OUT.has(name) && !LEFT_OUT.has(`${type.name}.${name}`),
  );

/** A random selection on a type: plain, aliased, in fragments of the type or its interfaces, left out by a variable. */
function selection(type: GraphQLObjectType, depth: number): fc.Arbitrary<string> {
  const field = (each: GraphQLField<unknown, unknown>, index: number): fc.Arbitrary<string> => {
    const named = getNamedType(each.type);
    const args = ARGUMENTS[`${type.name}.${each.name}`] ?? "";
    const below = isObjectType(named)
      ? selection(named, depth - 1)
      : isInterfaceType(named)
        ? fc.constant("{ __typename id }")
        : fc.constant(isLeafType(named) ? "" : "{ __typename }");
    const wrappers = [
      (text: string) => text,
      (text: string) => `... on ${type.name} { ${text} }`,
      (text: string) => `... @include(if: $yes) { ${text} }`,
      (text: string) => `... @include(if: $no) { ${text} }`,
      (text: string) => `... @skip(if: $no) { ${text} }`,
    ];
    return fc
      .tuple(below, fc.constantFrom(...wrappers))
      .map(([inner, wrap]) => wrap(`a${depth}_${index}: ${each.name}${args} ${inner}`));
  };
  const fields = usable(type).filter((each) => depth > 1 || isLeafType(getNamedType(each.type)));
  return fc
    .subarray(fields, { maxLength: Math.min(5, fields.length) })
    .chain((chosen) => fc.tuple(...chosen.map(field)))
    .map((parts) => `{ __typename ${parts.join(" ")} }`);
}

const operation = fc
  .uniqueArray(fc.constantFrom(...ROOTS), { minLength: 1, maxLength: 3 })
  .chain((roots) =>
    fc.tuple(
      ...roots.map(([field, type]) =>
        selection(objectType(type), 4).map((set) => `${field} { ... on ${type} ${set} }`),
      ),
    ),
  )
  .map(
    (roots) =>
      `query ($yes: Boolean!, $no: Boolean!) { y: __typename @include(if: $yes) n: __typename @include(if: $no) ${roots.map((root, index) => `r${index}: ${root}`).join(" ")} }`,
  );

/** How many requests of one list are missing in the other. */
function beyond(these: readonly string[], those: readonly string[]): string[] {
  const left = [...those];
  return these.filter((call) => {
    const at = left.indexOf(call);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}

test("the look-ahead changes no answer and adds no request", async () => {
  const frozen = Date.parse("2026-06-01T12:00:00Z");
  const demo = await startDemo({ now: () => frozen });
  onTestFinished(() => demo.close());
  const token = tokenOf(demo, "ada");
  const ahead = await startGateway({ upstream: demo, token });
  const lazy = await startGateway({ upstream: demo, token, lookAhead: false });
  const variables = { yes: true, no: false };

  await fc.assert(
    fc.asyncProperty(operation, async (document) => {
      const withAhead = await ahead.ask<object, object>(document, variables);
      const asked = callsOf(demo);
      const without = await lazy.ask<object, object>(document, variables);
      const askedWithout = callsOf(demo);
      expect(withAhead.errors).toBeUndefined();
      expect(comparable(withAhead.data)).toEqual(comparable(without.data));
      expect(beyond(asked, askedWithout)).toEqual([]);
      expect(new Set(asked).size).toBe(asked.length);
    }),
    { numRuns: 200 },
  );
}, 60_000);

/** URLs name the port of the gateway that answered. */
const comparable = (data: object): unknown =>
  JSON.parse(JSON.stringify(data).replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, ""));
