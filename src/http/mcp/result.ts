import type { CallToolResult } from "@modelcontextprotocol/server";
import type { ExecutionResult, GraphQLError } from "graphql";
import { longResult } from "../../engine/meter.ts";
import { tooLarge } from "../../engine/errors.ts";
import { toJson } from "../graphql/encoding.ts";

/* Results of tools, as an agent can go on from them. */

/** Begins the message of an error that is about the name of a record, or about an argument that takes one. */
const ABOUT_NAMES = /^(?:ids?|project|owner|name)(?:\[\d+\])?: |^Variable "\$(?:ids?|project|owner|name)"/;

/** What helps after an error with a code: a tool, what it does, and the messages it helps with. Default: all of the code. */
const HELPS: Readonly<Record<string, readonly (readonly [tool: string, does: string, when?: RegExp])[]>> = {
  NOT_FOUND: [
    ["FindProjects", "lists projects"],
    ["FindRuns", "lists the runs of one, also by words"],
  ],
  BAD_USER_INPUT: [
    ["FindProjects", "tells the names of projects and searches", ABOUT_NAMES],
    ["FindRuns", "tells the names and ids of runs", ABOUT_NAMES],
    ["graphql_schema", "shows what an argument takes"],
  ],
  CAPABILITY_UNAVAILABLE: [["StartPage", "tells what this server offers"]],
  GRAPHQL_VALIDATION_FAILED: [["graphql_schema", "shows the fields of a type"]],
};

type HasTool = (name: string) => boolean;

/** The sentences that name the tools that help; empty without one. */
function helpFor(errors: NonNullable<ExecutionResult["errors"]>, hasTool: HasTool): string {
  const helps = errors.flatMap(({ message, extensions: { code } }) =>
    (HELPS[String(code)] ?? []).flatMap(([tool, does, when]) =>
      hasTool(tool) && (when?.test(message) ?? true) ? [`${tool} ${does}.`] : [],
    ),
  );
  return [...new Set(helps)].join(" ");
}

/** The result as structured content, and as text for clients that do not read it. */
export function toToolResult(
  { data, errors, extensions }: ExecutionResult,
  hasTool: HasTool,
): CallToolResult {
  const structuredContent = {
    ...(data !== undefined && { data }),
    ...(errors && { errors: errors.map(toJson) }),
    ...(extensions && { extensions }),
  };
  const help = errors ? helpFor(errors, hasTool) : "";
  const texts = [JSON.stringify(structuredContent), ...(help === "" ? [] : [help])];
  return {
    content: texts.map((text) => ({ type: "text", text })),
    structuredContent,
    isError: errors !== undefined,
  };
}

/** How many times as long as allowed a result may be for its size and largest field to be told. */
export const MEASURED = 10;

/** The error of a result that is longer than allowed; null for any other. */
export function tooLong({ data, errors }: ExecutionResult, maxBytes: number): GraphQLError | null {
  const least = MEASURED * maxBytes;
  if (errors?.some(({ message }) => message === longResult(`${least} bytes`)))
    return tooLarge(
      `${longResult(`${maxBytes} bytes`)} It is longer than ${least} bytes: select fewer fields or items.`,
    );
  const bytes = Buffer.byteLength(JSON.stringify({ data, errors }));
  if (!data || bytes <= maxBytes) return null;
  const { field, share, items } = largestField(data);
  const fewer = items > 1 ? `, or ask for fewer of its ${items} items, by \`first\` for example` : "";
  return tooLarge(
    `Expected a result of at most ${maxBytes} bytes, got ${bytes}. \`${field}\` is ${share} % of it: leave it out${fewer}.`,
  );
}

interface Largest {
  /** Its path, without the indexes of lists. */
  readonly field: string;
  /** Its part of the result in percent. */
  readonly share: number;
  /** How often it is there. */
  readonly items: number;
}

/** The field whose values take most of a result, of those that have no fields themselves. */
function largestField(data: object): Largest {
  const fields = new Map<string, { bytes: number; items: number }>();
  let total = 0;
  const weigh = (value: unknown, path: string): void => {
    const isRecord = typeof value === "object" && value !== null;
    if (Array.isArray(value) && value.some((each) => typeof each === "object" && each !== null))
      for (const each of value) weigh(each, path);
    else if (isRecord && !Array.isArray(value) && Object.keys(value).length > 0)
      for (const [key, each] of Object.entries(value)) weigh(each, path === "" ? key : `${path}.${key}`);
    else {
      const bytes = JSON.stringify(value).length;
      const before = fields.get(path) ?? { bytes: 0, items: 0 };
      fields.set(path, { bytes: before.bytes + bytes, items: before.items + 1 });
      total += bytes;
    }
  };
  weigh(data, "");
  const [[field, { bytes, items }] = ["", { bytes: 0, items: 0 }]] = [...fields].toSorted(
    ([, one], [, other]) => other.bytes - one.bytes,
  );
  return { field, share: Math.round((100 * bytes) / Math.max(total, 1)), items };
}
