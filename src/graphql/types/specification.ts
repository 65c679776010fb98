import { InputError } from "../../errors.ts";
import { isObject } from "../../rest/api/record.ts";
import { MAX_KEY_LENGTH, MAX_TEXT_LENGTH, parseYaml } from "../../rest/api/run-config.ts";
import type { Context } from "../core/context.ts";
import { textOf } from "../core/cooperative-algorithms.ts";
import { quote } from "../core/ids.ts";

/*
 * Specifications of new runs. The server ignores many mistakes in a specification, and crashes on others, so the gateway checks it first.
 */

type Specification = Readonly<Record<string, unknown>>;

export interface SpecificationInput {
  readonly specification?: unknown;
  readonly specificationText?: string | null | undefined;
}

export const ONE = "expected `specification` or `specificationText`";

/**
 * Returns a specification as it was given and as a parsed value. Rejects with `InputError` unless the input has exactly one specification,
 * of this kind and with valid sections.
 */
export async function specificationOf(
  kind: string,
  { specification, specificationText: text }: SpecificationInput,
  context: Context,
) {
  if ((specification == null) === (text == null))
    throw new InputError(`input: ${ONE}, got ${text == null ? "neither" : "both"}`);
  const argument = text == null ? "input.specification" : "input.specificationText";
  const refused = (issue: string) => new InputError(`${argument}: ${issue}`);
  const read = text == null ? null : await parseText(text, refused, context);
  const parsed = read ? read.value : specification;
  if (!isObject(parsed)) throw refused("expected an object, got another value");
  if (parsed["kind"] !== kind) {
    const got =
      parsed["kind"] === undefined
        ? "none"
        : `kind: ${quote(`${JSON.stringify(parsed["kind"])}`.replaceAll(/^"|"$/g, ""))}`;
    throw refused(`expected kind: ${kind}, got ${got}`);
  }
  checkSections(kind, parsed, refused);
  const unsupported = read?.firstUnsupported() ?? null;
  if (unsupported !== null) throw refused(`expected YAML that the server can read, got ${unsupported}`);
  // The parser has already checked the length of a string.
  const size = read ? 0 : (await textOf(parsed, context)).length;
  if (size > MAX_TEXT_LENGTH)
    throw refused(`expected at most ${MAX_TEXT_LENGTH} characters of JSON, got ${size}`);
  /** Throws `InputError` if YAML has a value that the server may parse differently: below `key`, or anywhere if `key` is null. */
  const requireUnambiguous = (key: string | null, cause: string): void => {
    const scalar = read?.firstAmbiguous(key) ?? null;
    if (scalar !== null)
      throw refused(`expected plain numbers and quoted strings, because ${cause}, got ${quote(scalar)}`);
  };
  return { parsed, written: text ?? parsed, requireUnambiguous };
}

/** The sections of a specification, by kind: it must have at least one of `oneOf`, all of `required` and none of `refused`. */
const SECTIONS: Readonly<
  Record<string, Readonly<Record<"oneOf" | "required" | "refused", readonly string[]>>>
> = {
  experiment: { oneOf: ["run", "build"], required: [], refused: ["hptuning"] },
  job: { oneOf: ["run", "build"], required: [], refused: ["declarations", "hptuning"] },
  build: { oneOf: ["build", "image"], required: [], refused: ["declarations", "hptuning", "run"] },
  group: { oneOf: ["run", "build"], required: ["hptuning"], refused: [] },
};

/** Throws `InputError` for missing sections, and for sections that the server ignores, rejects or crashes on. */
function checkSections(kind: string, parsed: Specification, refused: (issue: string) => Error): void {
  const { oneOf = [], required = [], refused: others = [] } = SECTIONS[kind] ?? {};
  if (!oneOf.some((section) => parsed[section] != null))
    throw refused(`expected a section ${oneOf.map((name) => `\`${name}\``).join(" or ")}, got none`);
  const missing = required.find((section) => parsed[section] == null);
  if (missing !== undefined) throw refused(`expected a section \`${missing}\`, got none`);
  const extra = others.find((section) => parsed[section] != null);
  if (extra !== undefined) throw refused(`expected no section \`${extra}\` in kind: ${kind}, got one`);
  for (const section of ["run", "build", "hptuning", "declarations"]) {
    const value = parsed[section];
    const isEmpty = isObject(value) && Object.keys(value).length === 0 && section !== "declarations";
    if (value != null && (!isObject(value) || isEmpty))
      throw refused(`expected the section \`${section}\` to be an object with keys, got another value`);
  }
}

async function parseText(text: string, refused: (issue: string) => Error, context: Context) {
  try {
    return await context.runCooperatively(parseYaml(text));
  } catch (error) {
    if (PARSE_ERRORS.some((type) => error instanceof type)) throw refused((error as Error).message);
    throw error;
  }
}

/** The errors that the parser throws for invalid YAML. */
const PARSE_ERRORS = [SyntaxError, RangeError, ReferenceError, TypeError] as const;

/**
 * Returns the specification of a build in the format of the server: release 0.2 expects the image in a section `build`, release 0.4 at the
 * top level. A specification that already has this format is not changed. Rejects with `InputError` if it is invalid.
 */
export async function buildSpecification(given: SpecificationInput, context: Context): Promise<unknown> {
  const { parsed, written, requireUnambiguous } = await specificationOf("build", given, context);
  const { section: buildSection } = context.session.server.profile.inputs.createBuild;
  const { version, kind, build, ...top } = parsed;
  const isNested = build != null;
  if (isNested === (buildSection !== null)) return written;
  if (isNested && Object.keys(top).length > 0)
    throw new InputError(
      `input: expected the image in the section \`build\` or at the top, also got ${quote(Object.keys(top).join(", "))}`,
    );
  requireUnambiguous(null, "the server takes another form of build");
  const head = { version: version ?? 1, kind };
  // Safe: the specification is nested here, and `checkSections` has verified that `build` is an object.
  return buildSection === null ? { ...(build as object), ...head } : { ...head, [buildSection]: top };
}

/** Returns the parameters of a specification and the given ones. If a name occurs in both, the given parameter replaces the other. */
export const mergeParameters = (
  { declarations }: Specification,
  given: Readonly<Record<string, unknown>>,
): Specification => ({ ...(isObject(declarations) && declarations), ...given });

/** Matches a string in JSON, and the last digit and the `e` of a number with an exponent but without a dot. */
// oxlint-disable-next-line linear/regexp -- only for valid JSON, in which every string ends
const STRING_OR_EXPONENT = /"(?:[^"\\]|\\.)*"|(?<![\d.])\de/g;

/** Escapes control characters, and the line breaks that only YAML has. */
const escaped = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u2028\u2029\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/**
 * Writes JSON that YAML 1.1 parses to the same value. In YAML 1.1, a number with an exponent needs a dot, and control characters and some
 * more line breaks must be escaped. Throws `InputError` for a key that is too long for the server.
 */
export function yamlOf(specification: object): string {
  const json = JSON.stringify(specification, (key, value: unknown) => {
    const { length } = escaped(JSON.stringify(key));
    if (length <= MAX_KEY_LENGTH) return value;
    throw new InputError(
      `input.specification: expected keys of at most ${MAX_KEY_LENGTH} characters, got ${length}`,
    );
  });
  return escaped(
    json.replace(STRING_OR_EXPONENT, (found) => (found.startsWith('"') ? found : found.replace("e", ".0e"))),
  );
}
