import type * as z from "zod";
import { isObject } from "../rest/api/record.ts";
import { contradictionIn, type Profile, PROFILE_NAMES, WrittenProfile } from "../rest/api/profile.ts";
import { builtInProfile, wholeProfile } from "../rest/api/profiles.ts";
import { yaml } from "../rest/api/run-config.ts";
import { readText, refuse } from "./values.ts";

/** Maximum length of a profile, in characters. The time to parse it grows with the square of the number of keys in an object. */
const MAX_FILE_LENGTH = 32_768;

/** Maximum issues that are listed. Further issues are only counted. */
const MAX_REPORTED_ISSUES = 20;

/** Reads a built-in profile by name, or a profile file by path. No issue contains the path, which may be confidential. */
export function profileOf(nameOrPath: string, context: z.RefinementCtx): Profile {
  const name = PROFILE_NAMES.find((each) => each === nameOrPath);
  if (name) return builtInProfile(name);
  const text = /\.(?:ya?ml|json)$/.test(nameOrPath) ? readText(nameOrPath) : undefined;
  const names = PROFILE_NAMES.join(", ");
  if (text === undefined)
    return refuse(context, `expected ${names} or the path of a .yaml or .json file that can be read`);
  return parseProfile(text, context);
}

function parseProfile(text: string, context: z.RefinementCtx): Profile {
  if (text.length > MAX_FILE_LENGTH)
    return refuse(context, `expected at most ${MAX_FILE_LENGTH} characters, got ${text.length}`);
  let written: unknown;
  try {
    // JSON is also YAML. `logLevel` suppresses warnings, because a warning would print lines of the file.
    written = yaml().parse(text, { logLevel: "error" });
  } catch (error) {
    // The following lines of the message quote the file, which may contain a token.
    const reason = error instanceof Error ? error.message.replace(/:?\n.*/s, "") : "expected YAML or JSON";
    return refuse(context, reason);
  }
  const { data, error } = WrittenProfile.safeParse(written ?? {}, { reportInput: true });
  if (error) {
    const issues = error.issues.flatMap(reportsOf);
    const more = issues.length - MAX_REPORTED_ISSUES;
    return refuse(
      context,
      ...issues.slice(0, MAX_REPORTED_ISSUES),
      ...(more > 0 ? [`further faults: ${more}`] : []),
    );
  }
  const profile = wholeProfile(data);
  const contradiction = contradictionIn(profile);
  return contradiction === null ? profile : refuse(context, contradiction);
}

/** Formats an issue: `paging.parameter: expected the name of a query parameter, got 7`. */
function reportsOf(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => `${[...path, key].join(".")}: unknown key, ${issue.message}`);
  const at = path.join(".") || "profile";
  const { code, input } = issue;
  // For a union, zod reports the whole object and the path of its discriminator.
  const value = code === "invalid_union" && isObject(input) ? input[String(issue.path.at(-1))] : input;
  // The value of `authorization` may be a token that was put there by mistake.
  const got = path[0] === "authorization" ? "something else" : shown(value);
  return [`${at}: ${expectation(issue)}, got ${got}`];
}

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_value") return `expected ${issue.values.join(", ")}`;
  if (issue.code === "invalid_key") return issue.issues[0]?.message ?? issue.message;
  return issue.message.replace(/^Invalid input: /, "").replace(/, received .*/, "");
}

const MAX_SHOWN_LENGTH = 80;

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (isObject(value)) return "an object";
  return (JSON.stringify(value) ?? typeof value).slice(0, MAX_SHOWN_LENGTH);
}
