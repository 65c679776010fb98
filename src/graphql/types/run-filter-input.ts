import type { RunKind } from "../../rest/api/kind.ts";
import { builder, type PothosTypes } from "../core/builder.ts";
import { DeclarationFilter } from "./declaration-filter.ts";
import { RunStatusEnum } from "./status.ts";

/* Filters of lists of runs as typed input. */

export const DayRange = builder.inputType("DayRange", {
  description:
    "A range of days, such as `2026-03-01`, from 1970 to 2999. A day begins at midnight in the time zone of the service, which takes no time of day.",
  fields: (t) => ({
    from: t.string({ description: "First day, such as `2026-03-01`." }),
    before: t.string({ description: "Day after the last one, such as `2026-04-01`." }),
  }),
});

export const MetricFilter = builder.inputType("MetricFilter", {
  description: "Bounds of the last value of a metric. Without bounds, any run that has the metric matches.",
  fields: (t) => ({
    name: t.string({ required: true, description: "Name of the metric." }),
    greaterThan: t.float({ description: "Exclusive lower bound." }),
    atLeast: t.float({ description: "Inclusive lower bound." }),
    lessThan: t.float({ description: "Exclusive upper bound." }),
    atMost: t.float({ description: "Inclusive upper bound." }),
  }),
});

const IdsFilter = builder.inputType("IdsFilter", {
  description:
    "Records by global ids or unique names. At least one of the two lists; with both, a run must meet both.",
  fields: (t) => ({
    in: t.idList({ description: "The run belongs to one of them." }),
    notIn: t.idList({ description: "The run belongs to none of them." }),
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

const use = (member: string) => `Use \`${member}\`. Removed after 2027-06-30.`;

type FieldBuilder = PothosSchemaTypes.InputFieldBuilder<PothosTypes, "InputObject">;

const ofRun = (t: FieldBuilder) => ({
  name: t.stringList({ description: "Names, compared as a whole.", deprecationReason: use("names") }),
  status: t.field({
    type: [RunStatusEnum],
    description: "Statuses, of which the run has one.",
    deprecationReason: use("statuses"),
  }),
  notStatus: t.field({
    type: [RunStatusEnum],
    description: "Statuses that the run does not have.",
    deprecationReason: use("statuses"),
  }),
  words: t.string({
    description:
      "Words, in any case: each occurs in the name, the description or a tag of the run, also as part of a longer word. Servers search no texts: the gateway reads rows of the list, at most `gateway.limits.maxScannedRows` for one page, and `scan` of the list tells how many. Takes no `offset`, and is not for `runsUpdated`. Up to 200 characters.",
  }),
  names: t.field({ type: TextsFilter, description: "Names to include or to leave out." }),
  statuses: t.field({
    type: StatusesFilter,
    description:
      "Statuses to include or to leave out. `UNKNOWN` matches runs that the service calls so, not those without a status. `OTHER` is rejected: see `rawStatus`.",
  }),
  users: t.field({
    type: TextsFilter,
    description: "Login names of those who created the run, to include or to leave out.",
  }),
  rawStatus: t.stringList({
    description: "Statuses as the service spells them, for those that `RunStatus` does not have.",
  }),
  user: t.stringList({
    description: "Login names of those who created the run.",
    deprecationReason: use("users"),
  }),
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
    description: "Build jobs of the same project, one of which the run uses.",
    deprecationReason: use("builds"),
  }),
  builds: t.field({
    type: IdsFilter,
    description:
      "Build jobs of the same project to include or to leave out: global ids, or unique names such as `ada.mnist.builds.9`.",
  }),
});

const ofExperiment = (t: FieldBuilder) => ({
  group: t.idList({
    description:
      "Groups of the same project, one of which has the experiment. A selection can be the only one of a list of a project.",
    deprecationReason: use("groups"),
  }),
  groups: t.field({
    type: IdsFilter,
    description:
      "Groups of the same project to include or to leave out: global ids, or unique names such as `ada.mnist.5`. A selection can be the only one of a list of a project: servers have no filter for it beside other groups.",
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

export type Member = keyof RunFilter;

/** Members that only kinds have whose records have this key. */
const KEYS: { readonly [Name in Member]?: string } = {
  build: "build_job",
  builds: "build_job",
  group: "experiment_group",
  groups: "experiment_group",
  metrics: "last_metric",
  declarations: "declarations",
};

export function hasMember(keys: readonly string[], member: string): boolean {
  const { [member as Member]: key } = KEYS;
  return key === undefined || keys.includes(key);
}
