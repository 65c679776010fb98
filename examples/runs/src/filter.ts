import type { RunFilter, RunStatus } from "./generated/graphql.ts";

/** Statuses that a filter accepts. */
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

/** Names from the runs of a list, for use in a filter. */
export interface Names {
  readonly metrics: readonly string[];
  /** Values of each parameter, by its name. */
  readonly parameters: Readonly<Record<string, readonly string[]>>;
  readonly users: readonly string[];
  readonly tags: readonly string[];
  /** Whether the names come from all runs of the list. */
  readonly isComplete: boolean;
}

const BOUNDS = { "<": "lessThan", "<=": "atMost", ">": "greaterThan", ">=": "atLeast" } as const;

/** `metric.loss<0.3`, or `loss<0.3` if it is unambiguous. Names and values with spaces need quotation marks. */
const CONDITION = /^(?:(metric|parameter)\.)?(.+?)(<=|>=|<|>|==?)(.+)$/;
const PROPERTY = /^(status|tag|user):(.*)$/;

/** Splits a line at its spaces, except those inside quotation marks. `plain` removes the quotation marks. */
const termsOf = (text: string) => text.match(/(?:"[^"]*"?|[^\s",]|,(?=\S))+/g) ?? [];
const plain = (term: string) => term.replaceAll('"', "");
const quoted = (text: string) => (/[\s",]/.test(text) ? `"${plain(text)}"` : text);

interface Reading {
  /** Null if nothing is filtered. */
  readonly filter: RunFilter | null;
  /** Problems with single terms. The filter leaves out these terms. */
  readonly problems: readonly string[];
}

const listed = (names: readonly string[]) => (names.length > 0 ? names.join(", ") : "none");

/** Parses a line such as `loss<0.3 status:failed tag:cnn words`. All conditions must hold. Names are checked once they are known. */
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
      else problems.push(`No such status: ${each}. Statuses: ${listed(STATUSES)}.`);
    }
  }

  function readCondition([term, kind, name = "", sign = "", value = ""]: readonly (string | undefined)[]) {
    const [metrics, parameters] = [names?.metrics ?? [], Object.keys(names?.parameters ?? {})];
    const of = kind ?? (metrics.includes(name) ? "metric" : parameters.includes(name) ? "parameter" : "");
    if (names?.isComplete && of !== "parameter" && !metrics.includes(name)) {
      const known = of
        ? `Metrics: ${listed(metrics)}.`
        : `Metrics: ${listed(metrics)}. Parameters: ${listed(parameters)}.`;
      return void problems.push(`No such ${of || "metric or parameter"}: ${name}. ${known}`);
    }
    if (names?.isComplete && of === "parameter" && !parameters.includes(name))
      return void problems.push(`No such parameter: ${name}. Parameters: ${listed(parameters)}.`);
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

/** Whether a line has conditions that need the names: a name alone can be a metric or a parameter. */
export const needsNames = (line: string | undefined) => /[<>=]/.test(line ?? "");

/** Completions of a line: names while one is typed, and values after a name and a sign. */
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
