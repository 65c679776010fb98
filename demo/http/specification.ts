import { createRequire } from "node:module";
import type * as Yaml from "yaml";

import type { Declarations, RunConfig } from "../store.ts";
import { HttpError, isFields, pythonType } from "./messages.ts";

/** The specification of a run. Only its kind has been checked. */
export type Specification = Readonly<Record<string, unknown>>;

type Kind = "experiment" | "job" | "build" | "group";

/** The prefix of errors, their word for the specification, and the sections of other kinds. */
const kinds: Readonly<Record<Kind, readonly [prefix: string, name: string, unexpected: readonly string[]]>> =
  {
    experiment: ["specification config", "ExperimentSpecification", ["hptuning"]],
    job: ["job specification config", "JobSpecification", ["declarations", "hptuning"]],
    build: ["build specification config", "BuildSpecification", ["build", "run", "declarations", "hptuning"]],
    group: ["specification content", "GroupSpecification", []],
  };

/** Reads a specification, an object or a YAML document, as release 0.4.4 does. An error names the field of the body. */
export function readSpecification(kind: Kind, field: string, given: unknown): Specification {
  const [prefix, name, unexpected] = kinds[kind];
  const refuse = (reason: string) =>
    new HttpError(400, { [field]: [`Received non valid ${prefix}. ${reason}`] });
  if (typeof given === "string" && given.length > maxTextLength)
    throw new HttpError(400, {
      [field]: [`Ensure this field has no more than ${maxTextLength} characters.`],
    });
  const read = typeof given === "string" ? parsed(given, refuse) : given;
  if (!isFields(read)) {
    const expected = "Expects Mapping, string, or list of Mapping/string instances";
    throw refuse(
      typeof given === "string"
        ? `Cannot read config_value: \`${given}\``
        : `${expected}, received <class '${pythonType(read)}'> instead`,
    );
  }
  for (const section of ["version", "kind"]) {
    if (read[section] === undefined) throw refuse(`The Polyaxonfile \`${section}\` must be specified.`);
  }
  if (read["kind"] !== kind)
    throw refuse(
      `The specification used \`${name}\` is incompatible with the kind \`${textOf(read["kind"])}\`.`,
    );
  if (kind === "group" && !isFields(read["hptuning"]))
    throw refuse("hptuning is a required section for a valid Polyaxonfile");
  const section = unexpected.find((each) => read[each] !== undefined);
  if (section === undefined) return read;
  const where = `specification kind \`${kind}\` version \`${textOf(read["version"])}\``;
  throw refuse(
    `Unexpected section \`${section}\` for ${where}. Please check the Polyaxonfile specification for this version.`,
  );
}

/** In characters. */
const maxTextLength = 16_384;

/** Deeper documents could exceed the stack. */
const maxNesting = 100;

function parsed(text: string, refuse: (reason: string) => Error): unknown {
  try {
    return parseYaml(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "";
    throw refuse(`Received non valid yaml: \`${text}\`.\n${reason}`);
  }
}

const require = createRequire(import.meta.url);

/** Parses one document without aliases, whose resolution can take very long. Throws when it is invalid. */
function parseYaml(text: string): unknown {
  // Loaded when the first YAML is parsed.
  const { Composer, Lexer, Parser } = require("yaml") as typeof Yaml;
  function* tokens(): Generator<Yaml.CST.Token, void> {
    const parser = new Parser();
    for (const lexeme of new Lexer().lex(text)) {
      yield* parser.next(lexeme);
      if (parser.stack.length > maxNesting) throw new SyntaxError("Nested too deeply");
    }
    yield* parser.end();
  }
  const options = { uniqueKeys: false, schema: "core", resolveKnownTags: false, logLevel: "error" } as const;
  const [document, ...others] = new Composer(options).compose(tokens(), true, text.length);
  const [error] = document?.errors ?? [];
  if (error) throw error;
  if (others.length > 0) throw new SyntaxError("Expected a single document");
  return document?.toJS({ maxAliasCount: 0 });
}

/** A section of a specification, empty if it is missing. */
export function sectionOf(specification: Specification, name: string): Specification {
  const section = specification[name];
  return isFields(section) ? section : {};
}

/** The configuration of an experiment, a job or a build by its specification, with the parameter values inserted in the command. */
export function configOf(specification: Specification, declarations: Declarations | null = null): RunConfig {
  const { image, build_steps: steps } =
    specification["kind"] === "build" ? specification : sectionOf(specification, "build");
  const { cmd = "python train.py" } = sectionOf(specification, "run");
  return {
    image: typeof image === "string" ? image : "python:3.6",
    steps: Array.isArray(steps) ? steps.map(textOf) : [],
    cmd: (Array.isArray(cmd) ? cmd : [cmd])
      .map(textOf)
      .join(" && ")
      .replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (written, name: string) => textOf(declarations?.[name] ?? written)),
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

export function declarationsOf(specification: Specification): Declarations | null {
  const { declarations } = specification;
  return isFields(declarations) ? declarations : null;
}
