import {
  coerceInputValue,
  type GraphQLInputType,
  type GraphQLSchema,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
} from "graphql";
import { tryTo, InputError } from "../../errors.ts";
import { quote } from "../../graphql/core/ids.ts";
import type { RunListArgs } from "../../graphql/types/run-list.ts";

/** The arguments of lists that an export sets itself. */
const OWN = new Set(["first", "after", "offset"]);

/** Example values of the parameters that are JSON or lists of names, for error messages. */
const EXAMPLES: Readonly<Record<string, string>> = {
  filter: '{"statuses":["FAILED"]}',
  order: '{"by":{"metric":"loss"},"direction":"ASC"}',
  columns: "uniqueName,status,parameter.lr",
  names: "loss,accuracy",
};

export interface ExportParameters {
  readonly args: RunListArgs;
  /** Names of columns; null when the caller names none. */
  readonly columns: readonly string[] | null;
  /** Names of metrics; null when the caller names none. */
  readonly names: readonly string[] | null;
  /** Whether a CSV file begins with a byte order mark, by which Excel recognizes UTF-8. */
  readonly hasMark: boolean;
}

const BOM_PARAMETER = "bom";

function isMarked(text: string): boolean {
  if (text === "1" || text === "0") return text === "1";
  throw new InputError(`${BOM_PARAMETER}: expected 1 or 0, got ${quote(text)}`);
}

type NameList = "columns" | "names";

/**
 * Returns a function that parses the query of an export's URL. The parameters are the arguments of `Project.experiments`: enums and strings
 * as they are, other values as JSON. The function throws `InputError`, whose message suggests names of the schema unless `hideSuggestions`
 * is set.
 */
export function createParameters(schema: GraphQLSchema, hideSuggestions: boolean) {
  const project = schema.getType("Project");
  const { experiments } = isObjectType(project) ? project.getFields() : {};
  if (!experiments) throw new TypeError("expected a schema with the experiments of projects");
  const own = experiments.args.filter(({ name }) => !OWN.has(name));
  const types = new Map(own.map(({ name, type }) => [name, type]));

  return (query: URLSearchParams, lists: readonly NameList[]): ExportParameters => {
    const given: Record<string, unknown> = {};
    const named: Record<NameList, readonly string[] | null> = { columns: null, names: null };
    let hasMark = false;
    for (const name of new Set(query.keys())) {
      const [text = "", ...others] = query.getAll(name);
      if (others.length > 0) throw new InputError(`${name}: expected one query parameter, got several`);
      const type = types.get(name);
      const list = lists.find((each) => each === name);
      if (type) given[name] = valueOf(name, text, type, hideSuggestions);
      else if (list) named[list] = namesIn(list, text);
      else if (name === BOM_PARAMETER) hasMark = isMarked(text);
      else {
        const known = [...types.keys(), ...lists, BOM_PARAMETER].join(", ");
        throw new InputError(`expected one of the query parameters ${known}, got ${quote(name)}`);
      }
    }
    // Safe: the values were coerced to the types of the arguments.
    return { args: given as RunListArgs, ...named, hasMark };
  };
}

function valueOf(name: string, text: string, type: GraphQLInputType, hideSuggestions: boolean): unknown {
  const value = isJson(type) ? tryTo(() => JSON.parse(text) as unknown) : text;
  if (value === undefined)
    throw new InputError(`${name}: expected JSON such as ${EXAMPLES[name]}, got ${quote(text)}`);
  const onError = (path: readonly (string | number)[], _: unknown, { message }: Error): never => {
    // Removes the value from the message, because it can be long.
    const issue = message.replace(/, found .*$/s, "");
    throw new InputError(`${[name, ...path].join(".")}: ${issue}`);
  };
  return coerceInputValue(value, type, onError, hideSuggestions);
}

const isJson = (type: GraphQLInputType): boolean =>
  isNonNullType(type) ? isJson(type.ofType) : isInputObjectType(type) || isListType(type);

/** Parses a list of names that are separated by commas. The list may also be JSON, because a name may contain a comma. */
function namesIn(argument: NameList, text: string): readonly string[] {
  const names = text.startsWith("[")
    ? tryTo(() => JSON.parse(text) as unknown)
    : text.split(",").map((name) => name.trim());
  if (Array.isArray(names) && names.length > 0 && names.every(isName)) {
    if (new Set(names).size === names.length) return names;
    throw new InputError(`${argument}: expected each name once, got ${quote(text)}`);
  }
  throw new InputError(`${argument}: expected names such as \`${EXAMPLES[argument]}\`, got ${quote(text)}`);
}

const isName = (value: unknown): value is string => typeof value === "string" && value !== "";
