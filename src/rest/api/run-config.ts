import { createRequire } from "node:module";
import type * as Yaml from "yaml";
import { GatewayError } from "../../errors.ts";
import type { CooperativeTask } from "../../util/cooperative-task.ts";
import { MAX_NESTING } from "./json-scan.ts";
import { isDeeper } from "./parse-json.ts";
import { type ByName, type Check, isObject, rawJSON, textOrObject } from "./record.ts";
import { integerOf } from "./reader.ts";

const require = createRequire(import.meta.url);

/** Loads the YAML library on first use. Few gateways need it, because most servers send objects and most profiles are built in. */
export const yaml = () => require("yaml") as typeof Yaml;

/** A configuration that was received as a string. It is parsed on first use. */
class WrittenConfig {
  readonly content: string;
  #parsed: ByName | string | null = null;

  constructor(content: string) {
    this.content = content;
  }

  /** Parses the string in steps. Throws `GatewayError` if it is too long, or not an object in JSON or YAML. */
  *open(): CooperativeTask<ByName> {
    this.#parsed ??= yield* parse(this.content);
    if (typeof this.#parsed !== "string") return this.#parsed;
    throw new GatewayError("UPSTREAM_BAD_RESPONSE", `config: expected ${this.#parsed}.`);
  }
}

/** The configuration of a run: an object as received, or a string. */
export type RunConfig = ByName | WrittenConfig;

/** Safe: the readers of runs convert strings by `configOf`. */
export const runConfig = textOrObject as Check<RunConfig | null | undefined>;

/** The value that newer servers send under `content`: a string of YAML or JSON, or an object. */
export type Content = string | ByName | null | undefined;

export function configOf(content: Content | RunConfig): RunConfig | null {
  if (typeof content !== "string") return content ?? null;
  return content.trim() === "" ? null : new WrittenConfig(content);
}

export const receivedConfig = (config: RunConfig | null | undefined) =>
  config instanceof WrittenConfig ? config.content : (config ?? null);

export function openConfig(
  config: RunConfig | null | undefined,
  runCooperatively: (task: CooperativeTask<ByName>) => Promise<ByName>,
): ByName | null | Promise<ByName> {
  if (!config) return null;
  return config instanceof WrittenConfig ? runCooperatively(config.open()) : config;
}

/** Maximum length of a configuration, in characters. Known ones have up to 10,000. Parsing 1,000 characters takes 1 to 7 ms. */
export const MAX_TEXT_LENGTH = 16_384;

/** Parses the string. If it is invalid, returns a description of the expected format. */
function* parse(content: string): CooperativeTask<ByName | string> {
  if (content.length > MAX_TEXT_LENGTH)
    return `at most ${MAX_TEXT_LENGTH} characters of YAML from the service, got ${content.length}`;
  try {
    return (yield* parseYaml(content)).value;
  } catch {
    return "an object in JSON or YAML from the service, got a string that is neither";
  }
}

/**
 * Parses an object in YAML or JSON, in steps. Throws an error whose message says what was expected, what was received and, if known, at
 * which position. The returned `firstAmbiguous` finds a plain scalar that YAML 1.1 may parse as another value, below a given key or
 * anywhere.
 */
export function* parseYaml(content: string) {
  if (content.length > MAX_TEXT_LENGTH)
    throw new RangeError(`expected at most ${MAX_TEXT_LENGTH} characters, got ${content.length}`);
  // The memory is charged before the tokens exist, because many strings may be parsed concurrently.
  yield content.length * BYTES_PER_CHARACTER;
  const { root, tabAt } = yield* rootOf(content);
  const value = resolve(root, content);
  if (!isObject(value))
    throw new TypeError(`expected an object in YAML, got ${value === null ? "nothing" : "another value"}`);
  if (isDeeper(value, MAX_NESTING)) throw new RangeError(`expected at most ${MAX_NESTING} levels, got more`);
  return {
    value,
    firstAmbiguous: (key: string | null = null) => ambiguousIn(root, key, content),
    firstUnsupported: () => unsupportedIn(root, content, tabAt),
  };
}

/** Memory of the tokens and nodes per character of YAML, in the unit of the memory budget. Flow lists of digits use the most. */
const BYTES_PER_CHARACTER = 100;

/** Matches characters that PyYAML rejects, or that end a line only for PyYAML, so that a comment, for example, ends earlier. */
const MISREAD_BY_PYYAML =
  /[^\t\n\r\u0020-\u007e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]|\r(?!\n)/u;

/** Matches plain scalars that PyYAML resolves to a type, but may fail to convert to it. */
const FAILING = /^(?:=|<<|[-+]?0[bx]_+|\d{4}-\d\d?-\d\d?(?:[Tt\s].*)?)$/;

/** Matches the names of anchors that PyYAML accepts. */
const ANCHOR = /^[\w-]+$/;

/** Maximum length of a key for PyYAML as written, with its quotes and escapes, in characters. */
export const MAX_KEY_LENGTH = 1_024;

/**
 * Describes the first part of a string that PyYAML, the parser of the upstream service, rejects or fails on; null if there is none. `tabAt`
 * is the offset of a tab between tokens.
 */
function unsupportedIn(root: unknown, content: string, tabAt: number | null): string | null {
  const { isMap, isScalar, isSeq, visit } = yaml();
  const character = MISREAD_BY_PYYAML.exec(content);
  if (character) return `a control character or line separator at ${positionIn(content, character.index)}`;
  if (tabAt !== null) return `a tab outside of quotes at ${positionIn(content, tabAt)}`;
  const anchors = new Set<string>();
  let found: string | null = null;
  const report = (what: string, { range }: Yaml.Node): symbol => {
    found = `${what} at ${positionIn(content, range?.[0] ?? 0)}`;
    return visit.BREAK;
  };
  // Safe: the root of a document is a node.
  visit(root as Yaml.Node, {
    Node: (key, node) => {
      const isKey = key === "key";
      const { tag, source = "", type, anchor, range } = node as Yaml.Scalar;
      const own = isMap(node) ? ":map" : isSeq(node) ? ":seq" : ":str";
      if (tag !== undefined && !tag.endsWith(own)) return report("a tag", node);
      if (isKey && range && range[1] - range[0] > MAX_KEY_LENGTH)
        return report(`a key of more than ${MAX_KEY_LENGTH} characters`, node);
      if (anchor !== undefined && (anchors.has(anchor) || !ANCHOR.test(anchor)))
        return report(
          "an anchor that is not unique, or with characters other than letters, digits, - and _",
          node,
        );
      if (anchor !== undefined) anchors.add(anchor);
      if (isKey && !isScalar(node)) return report("a list or an object as a key", node);
      const isMerge = isKey && source === "<<";
      if (type === "PLAIN" && !isMerge && FAILING.test(source))
        return report("a plain date, `=`, `<<` or an incomplete number", node);
      return undefined;
    },
  });
  return found;
}

/** Matches plain scalars to which YAML 1.2 (this parser) and YAML 1.1 (PyYAML, the parser of the upstream service) give the same value. */
const UNAMBIGUOUS =
  /^(?:-?(?:0|[1-9]\d*)|-?\d+\.\d+(?:[eE][-+]\d+)?|~|(?!(?:[yn]|yes|no|on|off)$)[A-Za-z_/][^]*|)$/i;

/** Matches the integers of `UNAMBIGUOUS`. */
const INTEGER = /^-?\d+$/;

function ambiguousIn(root: unknown, key: string | null, content: string): string | null {
  const { isMap, visit } = yaml();
  if (!isMap(root)) return null;
  const under = key === null ? root : root.get(key, true);
  let found: string | null = null;
  // Safe: a value of a map is a node.
  visit(under as Yaml.Node, {
    Alias: () => {
      found ??= "an alias";
    },
    Scalar: (role, { type, value, source = "", range }) => {
      if (type !== "PLAIN") {
        // PyYAML ends a block without the line break that the string does not have.
        const isBlock = type?.startsWith("BLOCK") ?? false;
        if (isBlock && range?.[1] === content.length && !content.endsWith("\n"))
          found ??= "a block that no line break ends";
        return;
      }
      // Before Node.js 21, long integers are strings.
      const isLong = !rawJSON && INTEGER.test(source) && !Number.isSafeInteger(Number(source));
      if (isLong) found ??= `${source}, an integer beyond 2^53`;
      if (!UNAMBIGUOUS.test(source)) found ??= source;
      if (role === "key" && value === null) found ??= "a key that is null";
    },
  });
  return found;
}

const YAML_OPTIONS = {
  // The library's check for unique keys takes quadratic time. As in JSON, the last of two equal keys counts.
  uniqueKeys: false,
  // Allows only the types of JSON (no dates, bytes or sets), whatever version or tags the string declares.
  schema: "core",
  resolveKnownTags: false,
  intAsBigInt: true,
  // A warning would print the string on stderr.
  logLevel: "error",
} as const;

/** Parses YAML, in steps. Throws if the string is invalid, contains several documents, or expands too far by aliases. */
function* rootOf(
  content: string,
): CooperativeTask<{ readonly root: unknown; readonly tabAt: number | null }> {
  const { Composer } = yaml();
  const { tokens, tabAt } = yield* tokensOf(content);
  const [document, ...others] = new Composer(YAML_OPTIONS).compose(tokens, true, content.length);
  if (!document || others.length > 0)
    throw new SyntaxError(`expected one document, got ${document ? "several" : "none"}`);
  const [error] = document.errors;
  if (error) throw invalidAt(content, error.pos[0], error.code);
  return { root: document.contents, tabAt };
}

/** The error of invalid YAML, with the code of the library: `BAD_INDENT`. The YAML is not quoted, because it may contain secrets. */
function invalidAt(content: string, offset: number, code: string | null = null): SyntaxError {
  const reason = code === null ? "" : ` (${code})`;
  return new SyntaxError(`expected YAML, got a syntax error at ${positionIn(content, offset)}${reason}`);
}

function positionIn(content: string, offset: number): string {
  const lines = content.slice(0, offset).split(/\r\n|[\n\r]/);
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

/** Maximum number of values plus characters of strings, with every alias expanded. Typical configurations have a hundredth of it. */
const MAX_SIZE = 100_000;

/**
 * Creates the value of parsed YAML as PyYAML does, with merge keys (`<<`). Own code instead of the library's `toJS`, which searches the
 * whole document for each alias, once per enclosing anchor: 14 kB can take nine seconds. Throws for an alias without an earlier anchor, for
 * a merge key whose value is not an object or a list of objects, and above `MAX_SIZE`.
 */
function resolve(root: unknown, content: string): unknown {
  const { isAlias, isMap, isScalar, isSeq } = yaml();
  /** The values by their anchors. Null while a value is incomplete. */
  const anchored = new Map<string, { readonly value: unknown; readonly size: number } | null>();
  let size = 0;
  const at = ({ range }: Yaml.Node): string => positionIn(content, range?.[0] ?? 0);
  const count = (added: number, node: Yaml.Node): void => {
    size += added;
    if (size > MAX_SIZE) throw new RangeError(`expected fewer aliases, got too many values at ${at(node)}`);
  };

  const read = (node: unknown): unknown => {
    if (isAlias(node)) {
      const known = anchored.get(node.source);
      if (!known)
        throw new ReferenceError(`expected an alias of a complete value, got another at ${at(node)}`);
      count(known.size, node);
      return known.value;
    }
    if (!isScalar(node) && !isSeq(node) && !isMap(node)) return null;
    const before = size;
    if (node.anchor) anchored.set(node.anchor, null);
    const value = isMap(node) ? objectOf(node) : isSeq(node) ? node.items.map(read) : plain(node.value);
    count(typeof value === "string" ? 1 + value.length : 1, node);
    if (node.anchor) anchored.set(node.anchor, { value, size: size - before });
    return value;
  };

  /** Own keys override merged keys. Among merged keys, the last `<<` wins, and within the list of one `<<`, the first object wins. */
  const objectOf = (map: Yaml.YAMLMap): ByName => {
    const own: [string, unknown][] = [];
    const merged: [string, unknown][] = [];
    for (const { key, value } of map.items) {
      const [name, inner] = [nameOf(read(key)), read(value)];
      // A key that is an object is converted to a string. Its length can double at each level of nesting, so it is counted.
      count(name.length, map);
      const isMerge = isScalar(key) && key.value === "<<" && key.type === "PLAIN" && !key.tag;
      if (!isMerge) own.push([name, inner]);
      else
        for (const source of sourcesOf(inner, () => at(map)).toReversed())
          merged.push(...Object.entries(source));
    }
    return Object.fromEntries([...merged, ...own]);
  };

  return read(root);
}

/** Converts a `bigint` as `integerOf` does; returns other values unchanged. */
const plain = (value: unknown): unknown => (typeof value === "bigint" ? integerOf(`${value}`) : value);

function nameOf(key: unknown): string {
  if (key === null) return "";
  return typeof key === "object" ? JSON.stringify(key) : String(key);
}

/** The objects under a merge key: one, or a list of them. */
function sourcesOf(value: unknown, at: () => string): readonly ByName[] {
  const sources: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (sources.every(isObject)) return sources;
  throw new TypeError(`expected an object or a list of objects under <<, got another value at ${at()}`);
}

/** Number of lexemes between two pauses, about a millisecond. */
const LEXEME_STRIDE = 100;

/** The first characters of lexemes in which PyYAML accepts tabs: comments and quoted strings. */
const TABS_ALLOWED = /^[#"']/;

/** Lexemes that are no part of the content. */
const MARKERS = new Set(["\u0002", "\u0018", "\u001f"]);

/**
 * Tokenizes YAML in steps; throws on the first error. The library's `parse` recurses to any depth, which can crash the process. `tabAt` is
 * the offset of the first tab where PyYAML accepts none.
 */
function* tokensOf(
  content: string,
): CooperativeTask<{ readonly tokens: readonly Yaml.CST.Token[]; readonly tabAt: number | null }> {
  const { CST, Lexer, Parser } = yaml();
  const parser = new Parser();
  const tokens: Yaml.CST.Token[] = [];
  let count = 0;
  let [offset, tabAt]: [number, number | null] = [0, null];
  /** Whether the next scalar is a block, in which tabs are characters. */
  let isBlock = false;
  let isScalar = false;
  for (const lexeme of new Lexer().lex(content)) {
    const mayHaveTabs = isScalar ? isBlock : TABS_ALLOWED.test(lexeme);
    if (!mayHaveTabs && tabAt === null && lexeme.includes("\t")) tabAt = offset + lexeme.indexOf("\t");
    if (isScalar) isBlock = false;
    else isBlock ||= CST.tokenType(lexeme) === "block-scalar-header";
    isScalar = lexeme === CST.SCALAR;
    if (!MARKERS.has(lexeme)) offset += lexeme.length;
    for (const token of parser.next(lexeme)) {
      if (token.type === "error") throw invalidAt(content, token.offset);
      tokens.push(token);
    }
    if (parser.stack.length > MAX_NESTING)
      throw new SyntaxError(`expected at most ${MAX_NESTING} levels, got more`);
    if (++count % LEXEME_STRIDE === 0) yield;
  }
  tokens.push(...parser.end());
  return { tokens, tabAt };
}
