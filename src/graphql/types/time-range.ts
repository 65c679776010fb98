import { InputError } from "../../errors.ts";
import { type Condition, isDay } from "../../rest/api/list-query.ts";
import { builder } from "../core/builder.ts";
import { quote } from "../core/ids.ts";

/*
 * Ranges of times in filters. The query language of servers has only days, which begin at midnight in the server's time zone. For a time of
 * day, the server filters by day, and the gateway tests the remaining rows.
 */

export const TimeRange = builder.inputType("TimeRange", {
  description:
    "A range of times. The server filters by days. A time of day requires a scan of the days around it (see `ListScan`), unless it is the beginning of a day in `gateway.timeZone`.",
  fields: (t) => ({
    from: t.field({
      type: "DateTimeOrDay",
      description: "Inclusive start: the first day or time of the range.",
    }),
    before: t.field({
      type: "DateTimeOrDay",
      description: "Exclusive end: the first day or time after the range.",
    }),
  }),
});

const TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Returns a day unchanged, and a time in milliseconds since 1970. Throws `InputError` for any other string. */
function boundOf(argument: string, text: string): string | number {
  if (isDay(text)) return text;
  const [, day = ""] = TIME.exec(text) ?? [];
  const milliseconds = isDay(day) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(milliseconds)) return milliseconds;
  throw new InputError(
    `${argument}: expected a day from 1970 to 2999 such as 2026-03-01, or a time with UTC offset such as 2026-03-01T12:30:00Z, got ${quote(text)}`,
  );
}

const HOUR = 3_600_000;

/** The smallest and the largest offset of a time zone from UTC, in milliseconds. */
const OFFSETS = { least: -12 * HOUR, most: 14 * HOUR };

const utcDay = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, 10);

function dayIn(timeZone: string, milliseconds: number): string {
  const format = new Intl.DateTimeFormat("en", {
    timeZone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  });
  const parts = Object.fromEntries(
    format.formatToParts(milliseconds).map(({ type, value }) => [type, value]),
  );
  return `${parts["year"]}-${parts["month"]}-${parts["day"]}`;
}

const nextDay = (day: string): string => utcDay(Date.parse(day) + 24 * HOUR);

/**
 * Returns the conditions of a bound: a day for the server and, if the bound is not the beginning of a day, a time for the gateway. Returns
 * none if the bound is null.
 */
function conditionsOf(
  condition: Omit<Condition, "operands">,
  bound: string | number | null,
  timeZone: string | null,
): readonly Condition[] {
  if (bound === null) return [];
  if (typeof bound === "string") return [{ ...condition, operands: [bound] }];
  const isFrom = condition.operator === "atLeast";
  const day = timeZone ? dayIn(timeZone, bound) : utcDay(bound + (isFrom ? OFFSETS.least : OFFSETS.most));
  if (timeZone && day !== dayIn(timeZone, bound - 1)) return [{ ...condition, operands: [day] }];
  const around = isFrom ? day : nextDay(day);
  return [
    ...(isDay(around) ? [{ ...condition, operands: [around] }] : []),
    { ...condition, operands: [`${bound}`] },
  ];
}

/**
 * Returns a function that converts a range to conditions. It throws `InputError` for an invalid bound and for an empty range. If the time
 * zone of the server is not known, the day for the server allows for any time zone.
 */
export const timeConditions =
  (key: Condition["key"]) =>
  (
    { from, before }: typeof TimeRange.$inferInput,
    argument: string,
    { timeZone }: { readonly timeZone: string | null },
  ): readonly Condition[] => {
    const start = from == null ? null : boundOf(`${argument}.from`, from);
    const end = before == null ? null : boundOf(`${argument}.before`, before);
    // A day and a time are not compared, because only the server knows when the day begins.
    if (start !== null && end !== null && typeof start === typeof end && start >= end)
      throw new InputError(`${argument}: expected \`from\` before \`before\`, got ${from} and ${before}`);
    const lower = { argument: `${argument}.from`, key, operator: "atLeast" } as const;
    const upper = { argument: `${argument}.before`, key, operator: "lessThan" } as const;
    return [...conditionsOf(lower, start, timeZone), ...conditionsOf(upper, end, timeZone)];
  };
