import { InputError } from "../../errors.ts";
import { type Condition, hasMetric } from "../../rest/api/filter-language.ts";
import type { RunKind } from "../../rest/api/kind.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { builder, type PothosTypes } from "../core/builder.ts";
import { identify } from "../core/ids.ts";
import { kinds, type ProjectAddress, type TypeNames } from "../core/kinds.ts";
import { runRefs } from "../core/refs.ts";
import type { Kind } from "../core/resource.ts";
import { DeclarationFilter, declarationConditions } from "./declaration-filter.ts";
import { type RunStatus, RunStatusEnum } from "./status.ts";

/*
 * Filters of lists of runs as typed input. Each member becomes conditions, which the gateway writes in the language of the
 * server and checks before it sends them.
 */

const DayRange = builder.inputType("DayRange", {
  description:
    "A range of days, such as `2026-03-01`, from 1970 on. A day begins at midnight in the time zone of the service, which takes no time of day.",
  fields: (t) => ({
    from: t.string({ description: "First day." }),
    before: t.string({ description: "Day after the last one." }),
  }),
});

const MetricFilter = builder.inputType("MetricFilter", {
  description: "Bounds of the last value of a metric. Without bounds, any run that has the metric matches.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name of the metric." }),
    greaterThan: t.float({ description: "Exclusive lower bound." }),
    atLeast: t.float({ description: "Inclusive lower bound." }),
    lessThan: t.float({ description: "Exclusive upper bound." }),
    atMost: t.float({ description: "Inclusive upper bound." }),
  }),
});

const TextsFilter = builder.inputType("TextsFilter", {
  description: "Texts, compared as a whole. At least one of the two lists; with both, a run must meet both.",
  fields: (t) => ({
    in: t.stringList({ description: "The run has one of them." }),
    notIn: t.stringList({ description: "The run has none of them." }),
  }),
});

const StatusesFilter = builder.inputType("StatusesFilter", {
  description: "Statuses. At least one of the two lists; with both, a run must meet both.",
  fields: (t) => ({
    in: t.field({ type: [RunStatusEnum], description: "The run has one of them." }),
    notIn: t.field({ type: [RunStatusEnum], description: "The run has none of them." }),
  }),
});

type FieldBuilder = PothosSchemaTypes.InputFieldBuilder<PothosTypes, "InputObject">;

const ofRun = (t: FieldBuilder) => ({
  name: t.stringList({ description: "Names, compared as a whole." }),
  status: t.field({
    type: [RunStatusEnum],
    description:
      "Statuses. `UNKNOWN` matches runs that the service calls so, not those without a status. `OTHER` is rejected: see `rawStatus`.",
  }),
  notStatus: t.field({ type: [RunStatusEnum], description: "Statuses that the run does not have." }),
  names: t.field({ type: TextsFilter, description: "Names to include or to leave out." }),
  statuses: t.field({
    type: StatusesFilter,
    description: "Statuses to include or to leave out: as `status` and `notStatus`.",
  }),
  users: t.field({
    type: TextsFilter,
    description: "Login names of those who created the run, to include or to leave out.",
  }),
  rawStatus: t.stringList({
    description: "Statuses as the service spells them, for those that `RunStatus` does not have.",
  }),
  user: t.stringList({ description: "Login names of those who created the run." }),
  tags: t.stringList({ description: "Tags. The run has at least one of them." }),
  allTags: t.stringList({ description: "Tags. The run has all of them." }),
  notTags: t.stringList({ description: "Tags. The run has none of them." }),
  createdAt: t.field({ type: DayRange, description: "Days of its creation." }),
  updatedAt: t.field({ type: DayRange, description: "Days of its last change." }),
  startedAt: t.field({ type: DayRange, description: "Days of its start." }),
  finishedAt: t.field({ type: DayRange, description: "Days of its end." }),
});

const ofBuilt = (t: FieldBuilder) => ({
  build: t.idList({
    description:
      "Build jobs of the same project, one of which the run uses: global ids, or unique names such as `ada.mnist.builds.9`.",
  }),
});

const ofExperiment = (t: FieldBuilder) => ({
  group: t.idList({
    description:
      "Groups of the same project, one of which has the experiment: global ids, or unique names such as `ada.mnist.5`. A selection can be the only one of a list of a project: servers have no filter for it beside other groups.",
  }),
  metrics: t.field({ type: [MetricFilter], description: "Bounds of metrics. A run must meet all of them." }),
  declarations: t.field({
    type: [DeclarationFilter],
    description: "Values of parameters. A run must meet all of them.",
  }),
});

type Members = ReturnType<typeof ofRun> & ReturnType<typeof ofBuilt> & ReturnType<typeof ofExperiment>;

/** The input type of the filter of a kind of run, with the members that such runs have. */
export const filterOf = ({ name, many, keys }: RunKind) =>
  builder.inputType(`${name}Filter`, {
    description: `Filter of ${many}. A run matches if it meets every given member; it meets a list of values by any one of them. Requires the capability \`FILTERS\`.`,
    fields: (t) =>
      // Safe: a member that is missing here is never given.
      Object.fromEntries(
        Object.entries({ ...ofRun(t), ...ofBuilt(t), ...ofExperiment(t) }).filter(([member]) =>
          hasMember(keys, member),
        ),
      ) as Members,
  });

/** A filter of any kind of run. */
export type RunFilter = ReturnType<typeof filterOf>["$inferInput"];

/** The list that is filtered. */
interface Filtered {
  readonly kind: Pick<Kind, "name">;
  readonly project: ProjectAddress;
  readonly names: TypeNames;
}

/** The conditions of a filter. Throws `InputError` for those that this list does not have. */
export function conditionsOf(filter: RunFilter | null | undefined, filtered: Filtered): readonly Condition[] {
  if (!filter) return [];
  return (Object.keys(MEMBERS) as Member[]).flatMap((member) => {
    const { [member]: value } = filter;
    if (value == null) return [];
    const argument = `filter.${member}`;
    checkKind(member, filtered);
    if (Array.isArray(value) && value.length === 0) {
      throw new InputError(`${argument}: expected at least one value, got none`);
    }
    // Safe: the value is that of the member.
    return MEMBERS[member](value as never, argument, filtered);
  });
}

type Member = keyof RunFilter;
type Conditions<Value> = (value: Value, argument: string, filtered: Filtered) => readonly Condition[];

const set =
  (key: Condition["key"], operator: "anyOf" | "noneOf" = "anyOf"): Conditions<readonly string[]> =>
  (operands, argument) => [{ argument, key, operator, operands }];

const every =
  (key: Condition["key"]): Conditions<readonly string[]> =>
  (values, argument) =>
    values.map((value) => ({ argument, key, operator: "anyOf", operands: [value] }));

const statuses =
  (operator: "anyOf" | "noneOf"): Conditions<readonly RunStatus[]> =>
  (values, argument) => [
    { argument, key: "status", operator, operands: values.map((status) => spellingOf(status, argument)) },
  ];

function spellingOf(status: RunStatus, argument: string): string {
  if (status !== "OTHER") return status.toLowerCase();
  throw new InputError(`${argument}: expected a status of the service, got ${status}; use \`rawStatus\``);
}

const ids =
  (key: "build" | "group", kind: Kind<object, RunAddress>): Conditions<readonly string[]> =>
  (values, argument, { project, names }) => {
    const operands = values.map((value) => {
      const { address } = identify(kind, argument, value, names);
      if (address.owner === project.owner && address.project === project.project) return address.id;
      throw new InputError(
        `${argument}: expected a ${names.publicName(kind.name)} of ${kinds.project.formatName(project)}, got one of ${kinds.project.formatName(address)}`,
      );
    });
    return [{ argument, key, operator: "anyOf", operands }];
  };

const days =
  (key: Condition["key"]): Conditions<typeof DayRange.$inferInput> =>
  ({ from, before }, argument) => [
    ...bound({ argument: `${argument}.from`, key, operator: "atLeast" }, from),
    ...bound({ argument: `${argument}.before`, key, operator: "lessThan" }, before),
  ];

const bound = (
  condition: Omit<Condition, "operands">,
  value: string | number | null | undefined,
): readonly Condition[] => (value == null ? [] : [{ ...condition, operands: [`${value}`] }]);

const BOUNDS = ["greaterThan", "atLeast", "lessThan", "atMost"] as const;

const metrics: Conditions<readonly (typeof MetricFilter.$inferInput)[]> = (values, list) =>
  values.flatMap(({ name, ...bounds }, index) => {
    const argument = `${list}[${index}]`;
    const given = BOUNDS.flatMap((operator) =>
      bound({ argument, key: "metric", name, operator }, bounds[operator]),
    );
    return given.length > 0 ? given : [hasMetric(argument, name)];
  });

interface Plural<Value> {
  readonly in?: readonly Value[] | null | undefined;
  readonly notIn?: readonly Value[] | null | undefined;
}

/** The conditions of a filter with two lists. Each names its own list in messages. */
const plural =
  <Value>(
    conditions: (operator: "anyOf" | "noneOf") => Conditions<readonly Value[]>,
  ): Conditions<Plural<Value>> =>
  (given, argument, filtered) => {
    const lists = [
      [`${argument}.in`, given.in, "anyOf"],
      [`${argument}.notIn`, given.notIn, "noneOf"],
    ] as const;
    const found = lists.flatMap(([list, values, operator]) => {
      if (values == null) return [];
      if (values.length === 0) throw new InputError(`${list}: expected at least one value, got none`);
      return conditions(operator)(values, list, filtered);
    });
    if (found.length > 0) return found;
    throw new InputError(`${argument}: expected \`in\` or \`notIn\`, got none`);
  };

const MEMBERS: { readonly [Name in Member]-?: Conditions<NonNullable<RunFilter[Name]>> } = {
  name: set("name"),
  status: statuses("anyOf"),
  notStatus: statuses("noneOf"),
  names: plural((operator) => set("name", operator)),
  statuses: plural(statuses),
  users: plural((operator) => set("user", operator)),
  rawStatus: set("status"),
  user: set("user"),
  tags: set("tags"),
  allTags: every("tags"),
  notTags: set("tags", "noneOf"),
  createdAt: days("createdAt"),
  updatedAt: days("updatedAt"),
  startedAt: days("startedAt"),
  finishedAt: days("finishedAt"),
  build: ids("build", kinds.buildJob),
  group: ids("group", kinds.group),
  metrics,
  declarations: declarationConditions,
};

/** Members that only kinds have whose records have this key. */
const KEYS: { readonly [Name in Member]?: string } = {
  build: "build_job",
  group: "experiment_group",
  metrics: "last_metric",
  declarations: "declarations",
};

function hasMember(keys: readonly string[], member: string): boolean {
  const { [member as Member]: key } = KEYS;
  return key === undefined || keys.includes(key);
}

/** The schema says what a kind does not have, other than for `runsUpdated`, whose kind is an argument. */
function checkKind(member: Member, { kind, names }: Filtered): void {
  const others = runRefs.map(({ kind: { run } }) => run).filter(({ keys }) => hasMember(keys, member));
  if (others.some(({ name }) => name === kind.name)) return;
  const expected = others.map(({ name }) => names.publicName(name)).join(" or ");
  throw new InputError(
    `filter.${member}: expected for ${expected} only, got it for ${names.publicName(kind.name)}`,
  );
}
