import { Composer, type CST, Lexer, Parser } from "yaml";
import { z } from "zod";
import { UpstreamError } from "../../errors.ts";
import { DEEPEST, isObject } from "./reader.ts";
import { integer, object, openRaw, text, texts, type WithRaw } from "./values.ts";

const Known = z.object({
  build: z.object({ image: text, build_steps: texts }).nullish(),
  version: integer,
  kind: text,
  run: z.object({ cmd: text }).nullish(),
});
export type RunConfigRecord = WithRaw<z.output<typeof Known>>;

/** A configuration that arrived as text. It is parsed when a field asks for it, and once. */
interface WrittenConfig {
  /** Null when the text is no YAML of an object. Throws `UpstreamError` when it is too long to be parsed. */
  readonly open: () => RunConfigRecord | null;
}

/** The configuration of a run, as it arrived. */
export type RunConfig = RunConfigRecord | WrittenConfig;

export const Config = object.transform((raw): RunConfig => openRaw(Known, raw)).nullish();

/** The same as newer servers write it, under `content`: text of YAML or JSON, or an object. */
export const Content = z.union([z.string(), object]).nullish();

export function configOf(content: z.output<typeof Content>): RunConfig | null {
  if (typeof content !== "string") return content ? openRaw(Known, content) : null;
  let opened: { readonly config: RunConfigRecord | null } | null = null;
  return { open: () => (opened ??= { config: parse(content) }).config };
}

/** Longest text of a configuration, in characters. The longest known ones have 10,000; a parse takes 1 to 7 ms for each 1,000. */
const LONGEST_TEXT = 16_384;

/** The configuration itself; null when there is none. */
export const openConfig = (config: RunConfig | null | undefined): RunConfigRecord | null =>
  config && "open" in config ? config.open() : (config ?? null);

function parse(content: string): RunConfigRecord | null {
  if (content.length > LONGEST_TEXT) {
    throw new UpstreamError(
      "UPSTREAM_BAD_RESPONSE",
      `config: expected at most ${LONGEST_TEXT} characters of YAML from the service, got ${content.length}.`,
    );
  }
  const raw = valueOf(content);
  return isObject(raw) && !isDeeper(raw, DEEPEST) ? openRaw(Known, raw) : null;
}

const OPTIONS = {
  // Comparing each key with all the others is quadratic. Of two equal keys the last one counts, as in JSON.
  uniqueKeys: false,
  // What JSON can say, whatever version or type the text declares: no dates, bytes, sets or merged keys.
  schema: "core",
  resolveKnownTags: false,
  merge: false,
  // A warning would quote the text on the process's stderr.
  logLevel: "error",
} as const;

/** The value that a text of YAML stands for; null when it is no YAML, holds several documents, or expands without bound. */
function valueOf(content: string): unknown {
  try {
    const [document, ...others] = new Composer(OPTIONS).compose(tokensOf(content), true, content.length);
    return document && document.errors.length === 0 && others.length === 0 ? document.toJS() : null;
  } catch {
    return null;
  }
}

/**
 * The tokens of a text, up to where it cannot be used any more. Own code and not the library's `parse`, which goes
 * down into any depth: where the stack ends, compiling a regular expression ends the process, and nothing can catch that.
 */
function* tokensOf(content: string): Generator<CST.Token, void> {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(content)) {
    for (const token of parser.next(lexeme)) {
      if (token.type === "error") throw new SyntaxError(token.message);
      yield token;
    }
    if (parser.stack.length > DEEPEST) throw new SyntaxError("nested too deeply");
  }
  yield* parser.end();
}

/** Whether a value is nested more deeply: what writes the answer would run out of stack. */
const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));
