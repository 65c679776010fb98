import { InputError } from "../../errors.ts";
import { type Condition, hasMetric } from "../../rest/api/filter-language.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import { identify } from "../core/ids.ts";
import { kinds, type ProjectAddress } from "../core/kinds.ts";
import { runRefs } from "../core/refs.ts";
import type { Kind } from "../core/resource.ts";
import { declarationConditions } from "./declaration-filter.ts";
import {
  type DayRange,
  hasMember,
  type Member,
  type MetricFilter,
  type RunFilter,
} from "./run-filter-input.ts";
import type { RunStatus } from "./status.ts";
import { wordsConditions } from "./words-filter.ts";

/*
 * What filters of lists of runs say. Each member becomes conditions, which the gateway writes in the language of the
 * server and checks before it sends them.
 */

/** The list that is filtered. */
interface Filtered {
  readonly kind: Pick<Kind, "name">;
  readonly project: ProjectAddress;
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
  (
    key: "build" | "group",
    kind: Kind<object, RunAddress>,
    operator: "anyOf" | "noneOf" = "anyOf",
  ): Conditions<readonly string[]> =>
  (values, argument, { project }) => {
    const operands = values.map((value) => {
      const { address } = identify(kind, argument, value);
      if (address.owner === project.owner && address.project === project.project) return address.id;
      throw new InputError(
        `${argument}: expected a ${kind.name} of ${kinds.project.formatName(project)}, got one of ${kinds.project.formatName(address)}`,
      );
    });
    return [{ argument, key, operator, operands }];
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
  words: wordsConditions,
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
  builds: plural((operator) => ids("build", kinds.buildJob, operator)),
  group: ids("group", kinds.group),
  groups: plural((operator) => ids("group", kinds.group, operator)),
  metrics,
  declarations: declarationConditions,
};

/** The schema says what a kind does not have, other than for `runsUpdated`, whose kind is an argument. */
function checkKind(member: Member, { kind }: Filtered): void {
  const others = runRefs.map(({ kind: { run } }) => run).filter(({ keys }) => hasMember(keys, member));
  if (others.some(({ name }) => name === kind.name)) return;
  const expected = others.map(({ name }) => name).join(" or ");
  throw new InputError(`filter.${member}: expected for ${expected} only, got it for ${kind.name}`);
}
