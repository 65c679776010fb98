import { createRequire } from "node:module";
import type * as Yaml from "yaml";
import type * as z from "zod";
import { isObject } from "../rest/api/record.ts";
import {
  contradictionIn,
  type Profile,
  PROFILE_NAMES,
  type ProfileName,
  WrittenProfile,
} from "../rest/api/profile.ts";
import { builtInProfile, wholeProfile } from "../rest/api/profiles.ts";
import { readText, refuse } from "./values.ts";

const require = createRequire(import.meta.url);

/** Longest profile, in characters. The parser takes time by the square of the keys of an object. */
const MAX_LENGTH = 32_768;

/** Further faults are only counted. */
const MAX_FAULTS = 20;

const isName = (text: string): text is ProfileName => PROFILE_NAMES.some((name) => name === text);

/** Reads a built-in profile by name, or a profile file by path. Faults do not contain the path, which could leak. */
export function profileOf(nameOrPath: string, context: z.RefinementCtx): Profile {
  if (isName(nameOrPath)) return builtInProfile(nameOrPath);
  const text = /\.(?:ya?ml|json)$/.test(nameOrPath) ? readText(nameOrPath) : undefined;
  const names = PROFILE_NAMES.join(", ");
  if (text === undefined)
    return refuse(context, `expected ${names} or the path of a .yaml or .json file that can be read`);
  const found = parseProfile(text);
  return "basePath" in found ? found : refuse(context, ...found);
}

/** A profile, or its faults: one sentence each, with the place. */
function parseProfile(text: string): Profile | readonly string[] {
  if (text.length > MAX_LENGTH) return [`expected at most ${MAX_LENGTH} characters, got ${text.length}`];
  // Loaded only here: most profiles are built in.
  const { parse } = require("yaml") as typeof Yaml;
  let written: unknown;
  try {
    // YAML includes JSON. A warning would be printed with lines of the file.
    written = parse(text, { logLevel: "error" });
  } catch (error) {
    // Without the lines of the file that follow, in which a token may stand.
    return [error instanceof Error ? error.message.replace(/:?\n.*/s, "") : "expected YAML or JSON"];
  }
  const result = WrittenProfile.safeParse(written ?? {}, { reportInput: true });
  if (!result.success) return firstOf(result.error.issues.flatMap(faultsOf));
  const profile = wholeProfile(result.data);
  const contradiction = contradictionIn(profile);
  return contradiction === null ? profile : [contradiction];
}

/** The first faults, and how many more there are. */
function firstOf(faults: readonly string[]): readonly string[] {
  const more = faults.length - MAX_FAULTS;
  return more > 0 ? [...faults.slice(0, MAX_FAULTS), `further faults: ${more}`] : faults;
}

/** Formats an issue: `paging.parameter: expected the name of a query parameter, got 7`. */
function faultsOf(issue: z.core.$ZodIssue): string[] {
  const place = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => `${[...place, key].join(".")}: unknown key, ${issue.message}`);
  }
  const at = place.join(".") || "profile";
  // The value may be a token that was set by mistake.
  const got = place[0] === "authorization" ? "something else" : shown(inputOf(issue));
  return [`${at}: ${expectation(issue)}, got ${got}`];
}

/** The invalid value. For a union, zod gives the whole object and the path of its discriminator. */
function inputOf({ code, input, path }: z.core.$ZodIssue): unknown {
  return code === "invalid_union" && isObject(input) ? input[String(path.at(-1))] : input;
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
