import type { RunFilter, RunStatus } from "./generated/graphql.ts";

/** The statuses that runs are filtered by. */
const STATUSES = [
  "running",
  "succeeded",
  "failed",
  "stopped",
  "created",
  "building",
  "scheduled",
  "starting",
  "warning",
  "unschedulable",
] as const satisfies readonly Lowercase<RunStatus>[];

/** The names that runs of a list have, and that a filter can name. */
export interface Names {
  readonly metrics: readonly string[];
  /** Values by the names of parameters. */
  readonly parameters: Readonly<Record<string, readonly string[]>>;
  readonly users: readonly string[];
  readonly tags: readonly string[];
  /** Whether all runs of the list were looked at. */
  readonly isComplete: boolean;
}

const BOUNDS = { "<": "lessThan", "<=": "atMost", ">": "greaterThan", ">=": "atLeast" } as const;

/** `metric.loss<0.3`, or `loss<0.3` where it is clear. Names and values with spaces stand in quotation marks. */
const CONDITION = /^(?:(metric|parameter)\.)?(.+?)(<=|>=|<|>|==?)(.+)$/;
const PROPERTY = /^(status|tag|user):(.*)$/;

/** A text with its quotation marks, and without them. */
const termsOf = (text: string) => text.match(/(?:"[^"]*"?|[^\s",]|,(?=\S))+/g) ?? [];
const plain = (term: string) => term.replaceAll('"', "");
const quoted = (text: string) => (/[\s",]/.test(text) ? `"${plain(text)}"` : text);

interface Reading {
  /** Null where nothing is filtered. */
  readonly filter: RunFilter | null;
  /** Problems with terms, which are left out of the filter. */
  readonly problems: readonly string[];
}

const listed = (names: readonly string[]) => (names.length > 0 ? names.join(", ") : "none");

/**
 * Reads a line such as `loss<0.3 lr>=0.02 status:failed tag:cnn user:ada words`. All conditions must hold. Names are checked where they
 * are known.
 */
export function readFilter(line: string | undefined, names: Names | undefined): Reading {
  const problems: string[] = [];
  const filter = {
    words: [] as string[],
    statuses: [] as RunStatus[],
    allTags: [] as string[],
    users: [] as string[],
    metrics: [] as NonNullable<RunFilter["metrics"]>[number][],
    parameters: [] as NonNullable<RunFilter["parameters"]>[number][],
  };

  function readProperty(name: string, value: string) {
    const values = plain(value).split(",").filter(Boolean);
    if (values.length === 0) return void problems.push(`${name}: needs a value.`);
    if (name === "tag") filter.allTags.push(...values);
    if (name === "user") filter.users.push(...values);
    if (name !== "status") return;
    for (const each of values) {
      const status = STATUSES.find((known) => known === each.toLowerCase());
      if (status) filter.statuses.push(status.toUpperCase() as RunStatus);
      else problems.push(`No such status: ${each}. There are ${listed(STATUSES)}.`);
    }
  }

  function readCondition([term, kind, name = "", sign = "", value = ""]: readonly (string | undefined)[]) {
    const [metrics, parameters] = [names?.metrics ?? [], Object.keys(names?.parameters ?? {})];
    const of = kind ?? (metrics.includes(name) ? "metric" : parameters.includes(name) ? "parameter" : "");
    if (names?.isComplete && of !== "parameter" && !metrics.includes(name)) {
      const known = of
        ? `There are ${listed(metrics)}.`
        : `There are the metrics ${listed(metrics)} and the parameters ${listed(parameters)}.`;
      return void problems.push(`No such ${of || "metric or parameter"}: ${name}. ${known}`);
    }
    if (names?.isComplete && of === "parameter" && !parameters.includes(name))
      return void problems.push(`No such parameter: ${name}. There are ${listed(parameters)}.`);
    const bound = sign in BOUNDS ? BOUNDS[sign as keyof typeof BOUNDS] : null;
    const number = Number(value);
    if ((bound || of === "metric") && !Number.isFinite(number))
      return void problems.push(`${plain(term ?? "")}: expected a number after ${sign}, got ${value}.`);
    if (of === "metric")
      filter.metrics.push({ name, ...(bound ? { [bound]: number } : { atLeast: number, atMost: number }) });
    else if (bound) filter.parameters.push({ name, [bound]: number });
    else filter.parameters.push({ name, values: value.split(",") });
  }

  for (const term of termsOf(line ?? "")) {
    const [property, condition] = [PROPERTY.exec(term), CONDITION.exec(plain(term))];
    if (property) readProperty(property[1] ?? "", property[2] ?? "");
    else if (condition) readCondition(condition);
    else if (/[<>=]/.test(term))
      problems.push(`${term}: expected a name, a sign and a value, such as lr>=0.02.`);
    else filter.words.push(plain(term));
  }
  const given = Object.entries({ ...filter, words: filter.words.join(" ") }).filter(
    ([, value]) => value.length > 0,
  );
  return { filter: given.length > 0 ? Object.fromEntries(given) : null, problems };
}

/** Whether a line has conditions whose names decide what they mean. */
export const needsNames = (line: string | undefined) => /[<>=]/.test(line ?? "");

/** Ways to go on with a line: names while one is typed, values behind a name and a sign. */
export function completionsOf(line: string, names: Names | undefined): readonly string[] {
  const term = /\s$/.test(line) ? "" : (termsOf(line).at(-1) ?? "");
  const start = line.slice(0, line.length - term.length);
  const { metrics = [], parameters = {}, users = [], tags = [] } = names ?? {};
  const [, before = "", typed = term] =
    /^((?:status|tag|user):|(?:parameter\.)?[^<>=]+=)(.*)$/.exec(term) ?? [];
  const parameter = plain(before)
    .replace(/^parameter\./, "")
    .replace(/=$/, "");
  const found =
    {
      "": [
        "status:",
        "tag:",
        "user:",
        ...metrics.map((name) => `metric.${quoted(name)}`),
        ...Object.keys(parameters).map((name) => `parameter.${quoted(name)}`),
      ],
      "status:": STATUSES,
      "tag:": tags.map(quoted),
      "user:": users.map(quoted),
    }[before] ?? (parameters[parameter] ?? []).map(quoted);
  const wanted = plain(typed).toLowerCase();
  const startsRight = (each: string) =>
    Number(
      plain(each)
        .replace(/^(?:metric|parameter)\./, "")
        .toLowerCase()
        .startsWith(wanted),
    );
  return found
    .filter((each) => plain(each).toLowerCase().includes(wanted) && each !== typed)
    .toSorted((one, other) => startsRight(other) - startsRight(one))
    .map((each) => `${start}${before}${each}`);
}
