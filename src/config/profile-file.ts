import { readFileSync } from "node:fs";
import { extname } from "node:path";
import { parseDocument } from "yaml";
import type { z } from "zod";
import { type Profile, PROFILE_NAMES, type ProfileName, WrittenProfile } from "../rest/api/profile.ts";
import { builtInProfile, wholeProfile } from "../rest/api/profiles.ts";

/** A profile, or what is wrong with it: one sentence for each fault, with its place. */
type Found = { readonly profile: Profile } | { readonly faults: readonly string[] };

const EXTENSIONS: ReadonlySet<string> = new Set([".yaml", ".yml", ".json"]);

const isName = (text: string): text is ProfileName => PROFILE_NAMES.some((name) => name === text);

/** The profile of this name, or of the file at this path. Faults do not repeat the path: it says where things lie. */
export function readProfile(nameOrPath: string): Found {
  if (isName(nameOrPath)) return { profile: builtInProfile(nameOrPath) };
  const text = EXTENSIONS.has(extname(nameOrPath)) ? read(nameOrPath) : null;
  if (text !== null) return parseProfile(text);
  const names = PROFILE_NAMES.join(", ");
  return { faults: [`expected ${names} or the path of a .yaml or .json file that can be read`] };
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** Reads YAML, of which JSON is a part. */
function parseProfile(text: string): Found {
  const document = parseDocument(text, { prettyErrors: false });
  const faults = document.errors.map(
    ({ message, pos: [start] }) => `line ${lineOf(text, start)}: ${message}`,
  );
  if (faults.length > 0) return { faults };
  const result = WrittenProfile.safeParse(document.toJS() ?? {}, { reportInput: true });
  return result.success
    ? { profile: wholeProfile(result.data) }
    : { faults: result.error.issues.flatMap(faultsOf) };
}

const lineOf = (text: string, position: number) => text.slice(0, position).split("\n").length;

/** `paging.parameter: expected the name of a query parameter, got 7` */
function faultsOf(issue: z.core.$ZodIssue): string[] {
  const place = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => `${[...place, key].join(".")}: unknown key, ${issue.message}`);
  }
  return [`${place.join(".") || "profile"}: ${expectation(issue)}, got ${shown(issue.input)}`];
}

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_value") return `expected ${issue.values.join(", ")}`;
  if (issue.code === "invalid_key") return issue.issues[0]?.message ?? issue.message;
  return issue.message.replace(/^Invalid input: /, "").replace(/, received .*/, "");
}

const MAX_SHOWN = 80;

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return (JSON.stringify(value) ?? typeof value).slice(0, MAX_SHOWN);
}
