import { readFileSync, writeFileSync } from "node:fs";
import { isolatedDeclarationSync } from "oxc-transform";
import { z } from "zod";
import { SETTING_SECTIONS } from "./src/config.ts";

/*
 * Writes the types of the package: those of `src/index.ts`, and the settings with their descriptions and defaults. They
 * import nothing but Node's: a user of the package installs none of the packages that the gateway is made of.
 */

/** Settings of a process that listens by itself: see `src/config.ts`. */
const OF_PROCESS = new Set(["HOST", "PORT", "KEEP_ALIVE_TIMEOUT_MS"]);

/** What the JSON Schema of a setting says. */
const Setting = z.object({
  description: z.string(),
  default: z.union([z.string(), z.number()]).optional(),
  type: z.string().optional(),
  unset: z.string().optional(),
});

function settings(): string {
  const members = Object.values(SETTING_SECTIONS).flatMap((shape) => {
    const { properties } = z.toJSONSchema(z.object(shape), { io: "input" });
    return Object.entries(properties ?? {}).flatMap(([name, schema]) => {
      if (OF_PROCESS.has(name)) return [];
      const { description, default: fallback = "", unset = "none", type } = Setting.parse(schema);
      const text = description.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1");
      return [
        `  /** ${text} Default: ${fallback === "" ? unset : `\`${fallback}\``}. */`,
        `  readonly ${name}?: string${type === "integer" ? " | number" : ""} | undefined;`,
      ];
    });
  });
  return [
    "/** Settings as of the environment variables of these names. */",
    "export interface Settings {",
    ...members,
    "  /** The path of a file that contains a setting. */",
    "  readonly [file: `${string}_FILE`]: string | undefined;",
    "}",
    "",
  ].join("\n");
}

/** The declarations of a file of `src`, which must not follow from other files. */
function declarationsOf(name: string): string {
  const { code, errors } = isolatedDeclarationSync(`${name}.ts`, readFileSync(`src/${name}.ts`, "utf8"));
  const [error] = errors;
  if (error) throw new TypeError(`src/${name}.ts: ${error.message}`);
  return code.replaceAll(/(from "\.\/\w+)\.ts"/g, '$1.js"');
}

for (const name of ["index", "log"]) writeFileSync(`dist/${name}.d.ts`, declarationsOf(name));
writeFileSync("dist/config.d.ts", settings());
