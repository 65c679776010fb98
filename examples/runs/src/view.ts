import type { Address } from "./address.ts";
import type { ExperimentFilter, RunOrdering, RunStatus } from "./generated/graphql.ts";
import { orderOf } from "./sort.ts";

/** Which runs a list shows, and in which order: the variables of its queries. */
export interface View {
  readonly order: RunOrdering;
  readonly filter: ExperimentFilter | null;
}

/** A name, a sign and a value, such as `lr>=0.02`. */
const CONDITION = /^\s*([^<>=]+?)\s*(<=|>=|=|<|>)\s*(.+?)\s*$/;

/** What inputs of conditions must match, for the browser. */
export const CONDITION_PATTERN = "[^<>=]+(<=|>=|=|<|>).+";
export const BOUND_PATTERN = "[^<>=]+(<=|>=|<|>)\\s*-?[0-9.]+(e-?[0-9]+)?\\s*";

const BOUNDS = { "<": "lessThan", "<=": "atMost", ">": "greaterThan", ">=": "atLeast" } as const;

const conditionIn = (text: string | undefined) => {
  const [, name = "", sign = "", value = ""] = CONDITION.exec(text ?? "") ?? [];
  return name === "" ? null : { name, sign: sign as keyof typeof BOUNDS | "=", value };
};

function filterOf({ words, status, tag, parameter, bound }: Address): ExperimentFilter | null {
  const [declared, measured] = [conditionIn(parameter), conditionIn(bound)];
  const filter: ExperimentFilter = {
    ...(words?.trim() && { words }),
    ...(status && { statuses: { in: status.split(",") as RunStatus[] } }),
    ...(tag && { tags: [tag] }),
    ...(declared && {
      declarations: [
        {
          name: declared.name,
          ...(declared.sign === "="
            ? { values: [declared.value] }
            : { [BOUNDS[declared.sign]]: Number(declared.value) }),
        },
      ],
    }),
    ...(measured &&
      measured.sign !== "=" && {
        metrics: [{ name: measured.name, [BOUNDS[measured.sign]]: Number(measured.value) }],
      }),
  };
  return Object.keys(filter).length > 0 ? filter : null;
}

export const viewOf = (address: Address): View => ({
  order: orderOf(address.sort),
  filter: filterOf(address),
});

/** What a list is narrowed to, as it was typed. */
export const conditionsIn = ({ words, status, tag, parameter, bound }: Address): readonly string[] =>
  [words, status?.toLowerCase(), tag, parameter, bound].flatMap((each) => each || []);

/** Without its filter. */
export const unfiltered = (address: Address): Address => ({
  ...address,
  words: undefined,
  status: undefined,
  tag: undefined,
  parameter: undefined,
  bound: undefined,
});

export const hiddenIn = ({ hide = "" }: Address): readonly string[] => hide.split(",").filter(Boolean);
