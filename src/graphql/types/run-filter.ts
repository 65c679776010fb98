import { InputError, UpstreamError } from "../../errors.ts";
import { type Condition, hasMetric, type ListRequest, splitGroup } from "../../rest/api/list-query.ts";
import type { RunKind } from "../../rest/api/kind.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import type { GroupRecord } from "../../rest/api/records.ts";
import type { Server } from "../../rest/api/server.ts";
import { identify } from "../core/ids.ts";
import { kinds, type ProjectAddress } from "../core/kinds.ts";
import { runRefs } from "../core/refs.ts";
import { type Kind, load, toResource } from "../core/resource.ts";
import type { Context } from "../core/context.ts";
import { both } from "./list-scan.ts";
import {
  boundConditions,
  checkBounds,
  comparedOf,
  conditionTest,
  declarationConditions,
  wordsConditions,
  wordsTest,
} from "./scan-filters.ts";
import {
  type DayRange,
  hasMember,
  type Member,
  type MetricFilter,
  type RunFilter,
} from "./run-list-inputs.ts";
import { type RunPhase, type RunStatus, statusesOf } from "./status.ts";

/*
 * What filters of lists of runs say. Each member becomes conditions, which the gateway writes in the language of the
 * server and checks before it sends them.
 */

/** The list that is filtered. */
interface Filtered {
  readonly kind: { readonly name: string; readonly run: Pick<RunKind, "records"> };
  readonly project: ProjectAddress;
}

/**
 * Divides a filter: `conditions` for the server, and what the gateway finds itself, with the arguments that it compares. Throws
 * `InputError` for members that this list does not have, and `UpstreamError` for what neither can compare.
 */
export function divide(filter: RunFilter | null | undefined, filtered: Filtered, server: Server) {
  const all = conditionsOf(filter, filtered);
  const compared = comparedOf(all, server, filtered.kind.run.records);
  const { words } = filter ?? {};
  const named = words == null ? [] : ["filter.words"];
  return {
    conditions: all.filter((each) => !compared.includes(each)),
    isMatch: both(conditionTest(compared), wordsTest(words)),
    compared: [...compared.map(({ argument }) => argument), ...named],
  };
}

function conditionsOf(filter: RunFilter | null | undefined, filtered: Filtered): readonly Condition[] {
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
type Operator = "anyOf" | "noneOf";

const set =
  (key: Condition["key"], operator: Operator = "anyOf"): Conditions<readonly string[]> =>
  (operands, argument) => [{ argument, key, operator, operands }];

const every =
  (key: Condition["key"]): Conditions<readonly string[]> =>
  (values, argument) =>
    values.map((value) => ({ argument, key, operator: "anyOf", operands: [value] }));

const statuses =
  (operator: Operator): Conditions<readonly RunStatus[]> =>
  (values, argument) => [
    { argument, key: "status", operator, operands: values.map((status) => spellingOf(status, argument)) },
  ];

function spellingOf(status: RunStatus, argument: string): string {
  if (status !== "OTHER") return status.toLowerCase();
  throw new InputError(`${argument}: expected a status of the service, got ${status}; use \`rawStatuses\``);
}

const phases: Conditions<readonly RunPhase[]> = (values, argument, filtered) =>
  statuses("anyOf")(
    values.flatMap((phase) => {
      if (phase !== "UNKNOWN") return statusesOf(phase);
      throw new InputError(`${argument}: expected a phase that statuses have, got ${phase}`);
    }),
    argument,
    filtered,
  );

const ids =
  (
    key: "build" | "group",
    kind: Kind<object, RunAddress>,
    operator: Operator = "anyOf",
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

/** A day, also where JavaScript has written it as the time of its midnight. */
const dayOf = (text: string): string => text.replace(/T00:00(?::00(?:\.0+)?)?(?:Z|\+00:00)?$/, "");

const days =
  (key: Condition["key"]): Conditions<typeof DayRange.$inferInput> =>
  (range, argument) => {
    const [from, before] = [range.from, range.before].map((text) => (text == null ? null : dayOf(text)));
    if (from && before && from >= before)
      throw new InputError(`${argument}: expected \`from\` before \`before\`, got ${from} and ${before}`);
    return [
      ...bound({ argument: `${argument}.from`, key, operator: "atLeast" }, from),
      ...bound({ argument: `${argument}.before`, key, operator: "lessThan" }, before),
    ];
  };

const bound = (
  condition: Omit<Condition, "operands">,
  value: string | null | undefined,
): readonly Condition[] => (value == null ? [] : [{ ...condition, operands: [value] }]);

const metrics: Conditions<readonly (typeof MetricFilter.$inferInput)[]> = (values, list) =>
  values.flatMap(({ name, ...bounds }, index) => {
    const argument = `${list}[${index}]`;
    checkBounds(argument, bounds);
    const given = boundConditions({ argument, key: "metric", name }, bounds);
    // To databases nulls and texts such as "NaN" are less than any number.
    const isAbove = given.some(({ operator }) => operator === "greaterThan" || operator === "atLeast");
    return isAbove ? given : [...given, hasMetric(argument, name)];
  });

const MEMBERS: { readonly [Name in Member]-?: Conditions<NonNullable<RunFilter[Name]>> } = {
  words: wordsConditions,
  names: set("name"),
  notNames: set("name", "noneOf"),
  statuses: statuses("anyOf"),
  notStatuses: statuses("noneOf"),
  phases,
  rawStatuses: set("status"),
  users: set("user"),
  notUsers: set("user", "noneOf"),
  tags: set("tags"),
  allTags: every("tags"),
  notTags: set("tags", "noneOf"),
  createdAt: days("createdAt"),
  updatedAt: days("updatedAt"),
  startedAt: days("startedAt"),
  finishedAt: days("finishedAt"),
  builds: ids("build", kinds.buildJob),
  notBuilds: ids("build", kinds.buildJob, "noneOf"),
  groups: ids("group", kinds.group),
  notGroups: ids("group", kinds.group, "noneOf"),
  metrics,
  declarations: declarationConditions,
};

/** Throws `InputError` for a member that runs of the kind do not have. */
function checkKind(member: Member, { kind }: Filtered): void {
  const others = runRefs.map(({ kind: { run } }) => run).filter(({ keys }) => hasMember(keys, member));
  if (others.some(({ name }) => name === kind.name)) return;
  const expected = others.map(({ name }) => name).join(" or ");
  throw new InputError(`filter.${member}: expected for ${expected} only, got it for ${kind.name}`);
}

/*
 * Selections: groups of experiments that somebody chose. Servers list their experiments, but have no condition for them.
 */

interface GroupInFilter {
  readonly argument: string;
  readonly id: string;
}

/** The groups, with the argument that names each, for which the server's language has to do, which knows no selections. */
export function groupsInFilter(
  { profile, omits }: Server,
  asked: Pick<ListRequest, "group" | "conditions">,
): readonly GroupInFilter[] {
  if (omits(kinds.group.record ?? "", "group_type")) return [];
  const { conditions } = splitGroup(profile, asked);
  return conditions.flatMap(({ key, argument, operands }) =>
    key === "group" ? operands.map((id) => ({ argument, id })) : [],
  );
}

/**
 * Checks by their records that groups are no selections, whose experiments would be missing without a sign. Throws
 * `InputError`.
 */
export async function checkGroups(
  groups: readonly GroupInFilter[],
  project: ProjectAddress,
  { session }: Pick<Context, "session">,
): Promise<void> {
  await Promise.all(
    groups.map(async ({ argument, id }) => {
      const group = toResource(kinds.group, { ...project, id });
      const { group_type: type } = await load(group, ["group_type"], session).catch(nothingIfMissing);
      if (type !== "selection") return;
      throw new InputError(
        `${argument}: expected a selection as the only ${kinds.group.name} of a list of a project, got ${kinds.group.formatName(group.address)} with others`,
      );
    }),
  );
}

/** A group that does not exist has no experiments. */
function nothingIfMissing(error: unknown): Partial<GroupRecord> {
  if (error instanceof UpstreamError && error.code === "NOT_FOUND") return {};
  throw error;
}
