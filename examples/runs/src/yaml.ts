/** Strings that are the same in YAML 1.1 and 1.2 without quotes. */
const PLAIN =
  /^(?!(?:true|false|null|yes|no|on|off|y|n)$)[a-z_/](?:[\w/.=@+{}-]|:(?=[\w/])| (?=[\w/.=@+{}-]))*$/i;

/** Characters that JSON allows in a string and YAML does not. */
const SPECIAL = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

function scalarOf(value: unknown): string {
  if (typeof value === "string" && PLAIN.test(value)) return value;
  const json = JSON.stringify(value);
  // YAML 1.1 reads a number with an exponent only if it has a point, too.
  if (typeof value === "number") return json.replace(/^(-?\d+)e/, "$1.0e");
  return json.replace(SPECIAL, (each) => String.raw`\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const indent = (line: string) => `  ${line}`;

const isBlock = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.keys(value).length > 0;

function linesOf(value: unknown): readonly string[] {
  if (!isBlock(value)) return [scalarOf(value)];
  if (Array.isArray(value))
    return value.flatMap((item) => linesOf(item).map((line, at) => (at === 0 ? `- ${line}` : indent(line))));
  return Object.entries(value).flatMap(([key, inner]) =>
    isBlock(inner)
      ? [`${scalarOf(key)}:`, ...linesOf(inner).map(indent)]
      : [`${scalarOf(key)}: ${scalarOf(inner)}`],
  );
}

/** Writes a JSON value as YAML, for people to edit. */
export const yamlOf = (value: unknown): string => `${linesOf(value).join("\n")}\n`;
