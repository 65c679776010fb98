import type { InputShapeFromTypeParam, InputType } from "@pothos/core";
import { InputError } from "../../errors.ts";
import {
  checkLength,
  type Condition,
  hasMetric,
  type ListRequest,
  splitGroup,
} from "../../rest/api/list-query.ts";
import { either, type RunKind } from "../../rest/api/kinds.ts";
import type { Profile } from "../../rest/api/profile.ts";
import { mapped } from "../../rest/api/record.ts";
import type { RunAddress } from "../../rest/api/reference.ts";
import type { Server } from "../../rest/api/server.ts";
import { builder, type Inputs, type PothosTypes } from "../core/builder.ts";
import type { Context } from "../core/context.ts";
import { MAX_IDS } from "../core/connection.ts";
import { resolveId } from "../core/ids.ts";
import type { ProjectAddress } from "../core/kinds.ts";
import { BuildJob, Group, Project, runRefs } from "../core/refs.ts";
import { type Kind, load, nullIfNotFound, toResource } from "../core/resource.ts";
import { both, boundConditions, comparedOf, conditionTest } from "./scan.ts";
import { timeConditions, TimeRange } from "./time-range.ts";
import { WORDS_DESCRIPTION, wordsTest } from "./word-search.ts";
import { type RunPhase, RunPhaseEnum, type RunStatus, RunStatusEnum, statusesOf } from "./status.ts";

/*
 * Filters of lists of runs. Each member of a filter becomes conditions, which the gateway checks and translates into the server's query
 * language.
 */

interface Filtered {
  readonly kind: { readonly run: RunKind };
  readonly project: ProjectAddress;
}

type Conditions<Value> = (
  value: Value,
  argument: string,
  filtered: Filtered & Pick<Profile, "timeZone">,
) => readonly Condition[];
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
      throw new InputError(
        `${argument}: expected a phase other than UNKNOWN, got ${phase}; use \`rawStatuses\``,
      );
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
      const { address } = resolveId(kind, argument, value);
      if (address.owner === project.owner && address.project === project.project) return address.id;
      throw new InputError(
        `${argument}: expected a ${kind.name} of ${Project.kind.formatName(project)}, got one of ${Project.kind.formatName(address)}`,
      );
    });
    return [{ argument, key, operator, operands }];
  };

const bounds = (t: Inputs) => ({
  greaterThan: t.float({ description: "Exclusive lower bound." }),
  atLeast: t.float({ description: "Inclusive lower bound." }),
  lessThan: t.float({ description: "Exclusive upper bound." }),
  atMost: t.float({ description: "Inclusive upper bound." }),
});

const MetricFilter = builder.inputType("MetricFilter", {
  description: "Bounds of the latest value of a metric. Without bounds, runs that have the metric match.",
  fields: (t) => ({ name: t.string({ required: true, description: "Name of the metric." }), ...bounds(t) }),
});

const metrics: Conditions<readonly (typeof MetricFilter.$inferInput)[]> = (values, list) =>
  values.flatMap(({ name, ...given }, index) => {
    const argument = `${list}[${index}]`;
    const within = boundConditions({ argument, key: "metric", name }, given);
    // In databases, null and strings such as "NaN" are less than any number. So without a lower bound, a condition must require the metric.
    const isAbove = within.some(({ operator }) => operator === "greaterThan" || operator === "atLeast");
    return isAbove ? within : [...within, hasMetric(argument, name)];
  });

const ParameterFilter = builder.inputType("ParameterFilter", {
  description:
    "Values of a parameter. Servers compare strings only: numbers, booleans and lists are found by a scan, see `ListScan`.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name of the parameter." }),
    values: t.stringList({
      description:
        "Any of these, as text or JSON: `relu`, `0.5` (number or string), `true`, `[64, 32]` (as a whole).",
    }),
    ...bounds(t),
  }),
});

/** Throws `InputError` for a parameter with neither values nor bounds. */
const parameters: Conditions<readonly (typeof ParameterFilter.$inferInput)[]> = (filters, list) =>
  filters.flatMap(({ name, values, ...given }, index) => {
    const named = { argument: `${list}[${index}]`, key: "parameter", name } as const;
    const within = boundConditions(named, given);
    if (values?.length === 0 || (!values && within.length === 0))
      throw new InputError(`${named.argument}: expected at least one of \`values\` or a bound, got none`);
    if (values) checkLength(`${named.argument}.values`, values, "values");
    return values ? [{ ...named, operator: "anyOf", operands: values }, ...within] : within;
  });

/** The kinds of run whose records have a key. */
const kindsWith = (key: string) =>
  runRefs.flatMap(({ kind: { run } }) => (run.keys.includes(key) ? [run] : []));

const onlyOf = (key: string | undefined): string =>
  key === undefined
    ? ""
    : ` Only in lists of ${kindsWith(key)
        .map(({ many }) => many)
        .join(" and ")}.`;

/**
 * Defines a member of the filter by its input and the conditions that it becomes. With `key`, it is allowed only for kinds whose records
 * have this key.
 */
const when = <const Type extends InputType<PothosTypes> | [InputType<PothosTypes>]>(
  type: Type,
  description: string,
  conditions: Conditions<InputShapeFromTypeParam<PothosTypes, Type, true>>,
  key?: string,
) => ({ input: (t: Inputs) => t.field({ type, description: description + onlyOf(key) }), conditions, key });

const MEMBERS = {
  // The gateway itself tests this member: see `wordsTest`.
  words: when("String", WORDS_DESCRIPTION, () => []),
  names: when(["String"], "Complete display names (`name`). The run has one of them.", set("name")),
  notNames: when(
    ["String"],
    "Complete display names (`name`). The run has none of them.",
    set("name", "noneOf"),
  ),
  statuses: when([RunStatusEnum], "Statuses except `OTHER`. The run has one of them.", statuses("anyOf")),
  notStatuses: when(
    [RunStatusEnum],
    "Statuses except `OTHER`. The run has none of them.",
    statuses("noneOf"),
  ),
  phases: when([RunPhaseEnum], "Phases except `UNKNOWN`. The run is in one of them.", phases),
  rawStatuses: when(
    ["String"],
    "Statuses in the spelling of the service (`rawStatus`). The run has one of them.",
    set("status"),
  ),
  users: when(["String"], "Login names. One of them is the creator of the run.", set("user")),
  notUsers: when(["String"], "Login names. None of them is the creator of the run.", set("user", "noneOf")),
  tags: when(["String"], "Tags. The run has at least one of them.", set("tags")),
  allTags: when(["String"], "Tags. The run has all of them.", every("tags")),
  notTags: when(["String"], "Tags. The run has none of them.", set("tags", "noneOf")),
  createdAt: when(TimeRange, "Time of creation.", timeConditions("createdAt")),
  updatedAt: when(TimeRange, "Time of the last change.", timeConditions("updatedAt")),
  startedAt: when(TimeRange, "Time of the start.", timeConditions("startedAt")),
  finishedAt: when(TimeRange, "Time of the end.", timeConditions("finishedAt")),
  builds: when(
    ["ID"],
    "Build jobs by id or name. The run uses one of them.",
    ids("build", BuildJob.kind),
    "build_job",
  ),
  notBuilds: when(
    ["ID"],
    "Build jobs by id or name. The run uses none of them.",
    ids("build", BuildJob.kind, "noneOf"),
    "build_job",
  ),
  groups: when(
    ["ID"],
    "Groups by id or name. The experiment belongs to one of them. A group of the type `selection` must be the only one, and only in a list of a project.",
    ids("group", Group.kind),
    "experiment_group",
  ),
  notGroups: when(
    ["ID"],
    "Groups by id or name. The experiment belongs to none of them.",
    ids("group", Group.kind, "noneOf"),
    "experiment_group",
  ),
  metrics: when([MetricFilter], "Bounds of latest metrics. All of them must match.", metrics, "last_metric"),
  parameters: when(
    [ParameterFilter],
    "Values or bounds of parameters. All of them must match.",
    parameters,
    "declarations",
  ),
};

type Member = keyof typeof MEMBERS;

export const RunFilterInput = builder.inputType("RunFilter", {
  description:
    "Filter of runs. Runs must match all given members, and one of the values of a list. Members with `not` exclude runs. Requires `FILTERS`.",
  fields: (t) =>
    // Safe: each input belongs to its member.
    mapped(MEMBERS, ({ input }) => input(t)) as {
      readonly [Name in Member]: ReturnType<(typeof MEMBERS)[Name]["input"]>;
    },
});

export type RunFilter = typeof RunFilterInput.$inferInput;

function conditionsOf(
  filter: RunFilter,
  filtered: Filtered & Pick<Profile, "timeZone">,
): readonly Condition[] {
  return (Object.keys(MEMBERS) as Member[]).flatMap((name) => {
    const { [name]: value } = filter;
    if (value == null) return [];
    const { conditions } = MEMBERS[name];
    const argument = `filter.${name}`;
    if (Array.isArray(value)) {
      checkLength(argument, value, "values");
      if (value.length === 0) throw new InputError(`${argument}: expected at least one value, got none`);
    }
    // Safe: the value has the type of its member.
    return conditions(value as never, argument, filtered);
  });
}

/** Throws `InputError` if the records of one of the listed kinds lack a key that the argument needs. */
export function checkKinds(argument: string, key: string, listed: readonly RunKind[]): void {
  const lacking = listed.filter(({ keys }) => !keys.includes(key));
  if (lacking.length === 0) return;
  const having = kindsWith(key).map(({ many }) => many);
  const got = lacking.map(({ many }) => many).join(", ");
  throw new InputError(`${argument}: expected only for lists of ${either(having)}, got a list with ${got}`);
}

/** Throws `InputError` if the filter has a member that one of the listed kinds does not support. */
export function checkMembers(filter: RunFilter | null | undefined, listed: readonly RunKind[]): void {
  // Safe: these are the keys of the table.
  for (const name of Object.keys(MEMBERS) as Member[]) {
    const { key } = MEMBERS[name];
    if (key !== undefined && filter?.[name] != null) checkKinds(`filter.${name}`, key, listed);
  }
}

/**
 * Divides a filter. `conditions` are for the server; `isMatch` tests the others in the gateway, and `compared` has their arguments. Throws
 * `InputError` for members that the kind does not support, and `GatewayError` for conditions that neither the server nor the gateway can
 * test.
 */
export function divide(filter: RunFilter | null | undefined, filtered: Filtered, server: Server) {
  checkMembers(filter, [filtered.kind.run]);
  const all = filter ? conditionsOf(filter, { ...filtered, timeZone: server.profile.timeZone }) : [];
  const compared = comparedOf(all, server, filtered.kind.run.records);
  const own = new Set(compared);
  const isMatch = both(conditionTest(compared), wordsTest(filter?.words, "filter.words"));
  return {
    conditions: all.filter((each) => !own.has(each)),
    isMatch,
    compared: [
      ...compared.map(({ argument }) => argument),
      ...(filter?.words == null ? [] : ["filter.words"]),
    ],
  };
}

/**
 * Reads the groups in the conditions of a query. A promise rejects with `InputError` if its group is a selection, that is, a group whose
 * experiments a user has chosen. Servers would silently omit the experiments of a selection. Throws `InputError` if there are too many
 * groups.
 */
export function checkGroups(
  request: Pick<ListRequest, "group" | "conditions">,
  project: ProjectAddress,
  { session, server }: Pick<Context, "session" | "server">,
): readonly Promise<void>[] {
  if (server.omits(Group.kind.record ?? "", "group_type")) return [];
  const check = async (argument: string, id: string): Promise<void> => {
    const group = toResource(Group.kind, { ...project, id });
    // A group that does not exist has no experiments.
    const record = await load(group, ["group_type"], session).catch(nullIfNotFound);
    if (record?.group_type !== "selection") return;
    throw new InputError(
      `${argument}: expected no other ${Group.kind.name} together with a selection, got ${Group.kind.formatName(group.address)} with others`,
    );
  };
  return splitGroup(server.profile, request).conditions.flatMap(({ key, argument, operands }) => {
    if (key !== "group") return [];
    const different = [...new Set(operands)];
    if (different.length > MAX_IDS)
      throw new InputError(
        `${argument}: expected at most ${MAX_IDS} different groups, got ${different.length}`,
      );
    return different.map((id) => check(argument, id));
  });
}
