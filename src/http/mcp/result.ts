import type { CallToolResult } from "@modelcontextprotocol/server";
import type { ExecutionResult } from "graphql";
import { jsonOf } from "../graphql/encoding.ts";

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
export function toToolResult(result: ExecutionResult, hasTool: HasTool): CallToolResult {
  const { errors } = result;
  const structuredContent = jsonOf(result);
  const help = errors ? helpFor(errors, hasTool) : "";
  const texts = [JSON.stringify(structuredContent), ...(help === "" ? [] : [help])];
  return {
    content: texts.map((text) => ({ type: "text", text })),
    structuredContent,
    isError: errors !== undefined,
  };
}
