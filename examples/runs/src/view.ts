import type { Address } from "./address.ts";
import type { RunFilter, RunOrder, RunStatus } from "./generated/graphql.ts";
import { orderOf, ownOrderIn } from "./sort.ts";
import { tagsIn } from "./tags.ts";

/** The runs that a list shows, and their order: the variables of its queries. */
export interface View {
  readonly order: RunOrder;
  readonly filter: RunFilter | null;
  /** Whether the smallest and largest values of metrics are read. */
  readonly values: boolean;
}

/** The statuses that runs are filtered by. */
export const STATUSES = [
  "RUNNING",
  "SUCCEEDED",
  "FAILED",
  "STOPPED",
  "CREATED",
  "BUILDING",
  "SCHEDULED",
  "STARTING",
  "WARNING",
  "UNSCHEDULABLE",
] as const satisfies readonly RunStatus[];

const partsOf = (text: string | undefined) => (text ?? "").split(",").filter(Boolean);

/** The statuses that an address names. */
export const statusesIn = ({ status }: Address) => STATUSES.filter((each) => partsOf(status).includes(each));

const [NAME, SIGN] = ["[^<>=!,]+", "<=|>=|<|>"];
const NUMBER = "\\s*[+\\-]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+\\-]?[0-9]+)?\\s*";
const listOf = (one: string) => `(?:${one})(?:,(?:${one}))*`;

/** Conditions as the browser checks them where they are typed: `loss<0.3`, and with commas between several. */
export const BOUND_PATTERN = listOf(`${NAME}(?:${SIGN})${NUMBER}`);
/** The same with equality: `lr>=0.02, activation=relu`. */
export const CONDITION_PATTERN = listOf(`${NAME}(?:${SIGN})${NUMBER}|${NAME}==?[^,=]+`);

/** A name, a sign and a value. */
const CONDITION = new RegExp(`^(${NAME})(${SIGN}|==?)(.+)$`);

const BOUNDS = { "<": "lessThan", "<=": "atMost", ">": "greaterThan", ">=": "atLeast" } as const;

const isBound = (sign: string): sign is keyof typeof BOUNDS => sign in BOUNDS;

/** The conditions in a text. Empty if the text is not a list of conditions. */
function conditionsOf(text: string | undefined, pattern: string) {
  if (!text || !new RegExp(`^(?:${pattern})$`).test(text)) return [];
  return text.split(",").flatMap((part) => {
    const [, name = "", sign = "", value = ""] = CONDITION.exec(part) ?? [];
    return { name: name.trim(), sign, value: value.trim() };
  });
}

/** Parts of an address that should be conditions and are not. */
export const misreadIn = ({ status, parameter, bound }: Address): readonly string[] => [
  ...partsOf(status).filter((each) => !STATUSES.some((known) => known === each)),
  ...(parameter && conditionsOf(parameter, CONDITION_PATTERN).length === 0 ? [parameter] : []),
  ...(bound && conditionsOf(bound, BOUND_PATTERN).length === 0 ? [bound] : []),
];

function filterOf(address: Address): RunFilter | null {
  const { words, tag, parameter, bound } = address;
  const statuses = statusesIn(address);
  const tags = tagsIn(tag ?? "");
  const parameters = conditionsOf(parameter, CONDITION_PATTERN).map(({ name, sign, value }) =>
    isBound(sign) ? { name, [BOUNDS[sign]]: Number(value) } : { name, values: [value] },
  );
  const metrics = conditionsOf(bound, BOUND_PATTERN).flatMap(({ name, sign, value }) =>
    isBound(sign) ? { name, [BOUNDS[sign]]: Number(value) } : [],
  );
  const filter: RunFilter = {
    ...(words?.trim() && { words }),
    ...(statuses.length > 0 && { statuses }),
    ...(tags.length > 0 && { tags: [...tags] }),
    ...(parameters.length > 0 && { parameters }),
    ...(metrics.length > 0 && { metrics }),
  };
  return Object.keys(filter).length > 0 ? filter : null;
}

export const viewOf = (address: Address): View => ({
  order: orderOf(address.sort),
  filter: filterOf(address),
  values: valuesIn(address).length > 0,
});

/**
 * How the first page is read. An order of this page itself, and columns that were not read before, need all runs, up to the maximum of one
 * read. The cache does not notice missing columns of a deferred fragment, so it is not used for them.
 */
export const readingOf = (address: Address) => {
  const { values } = viewOf(address);
  return {
    first: values || ownOrderIn(address.sort) ? 100 : 12,
    requestPolicy: values ? ("network-only" as const) : ("cache-first" as const),
  };
};

type Reading = View & { readonly first: number };

/** Whether the view that was read differs from the wanted one, or is only a part of it. */
export const isOther = (read: Reading, wanted: Reading) =>
  JSON.stringify([read.order, read.filter]) !== JSON.stringify([wanted.order, wanted.filter]) ||
  read.first < wanted.first ||
  (wanted.values && !read.values);

/** The conditions that narrow a list, as they were typed. */
export const conditionsIn = ({ words, status, tag, parameter, bound }: Address): readonly string[] =>
  [words, partsOf(status).join(" or ").toLowerCase(), tag, parameter, bound].flatMap((each) => each || []);

/** Whether a list is as it is without any choice. */
export const isPlain = (address: Address) => conditionsIn(address).length === 0 && !address.sort;

/** Without its filter. */
export const unfiltered = (address: Address): Address => ({
  ...address,
  words: undefined,
  status: undefined,
  tag: undefined,
  parameter: undefined,
  bound: undefined,
});

export const hiddenIn = ({ hide }: Address): readonly string[] => partsOf(hide);

/** Values that can be shown for each metric in addition to its last one. */
export const VALUES = ["best", "smallest", "largest"] as const;

export const valuesIn = ({ values }: Address) => VALUES.filter((each) => partsOf(values).includes(each));
