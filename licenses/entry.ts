import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The license of a package as `licenses.txt` has it. */
export interface Entry {
  readonly name: string;
  readonly version: string;
  /** An identifier or expression of SPDX. */
  readonly license: string;
  readonly text: string;
}

/** What a `package.json` says, as far as it is read here. */
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly author?: string | { readonly name: string };
}

/** Files with licenses and notices, of the package and of what it contains. */
const TEXTS = /^(?:licen[cs]e|copying|notice|third.?party.?notices)/i;

/** The license and the notices of a package as its authors distribute them. */
export function entryOf(folder: string): Entry {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const { name, version, license = "none" } = manifest;
  const texts = readdirSync(folder, { withFileTypes: true })
    .filter((file) => file.isFile() && TEXTS.test(file.name))
    .map(({ name: file }) =>
      readFileSync(join(folder, file), "utf8").replace("\uFEFF", "").replaceAll("\r\n", "\n").trim(),
    );
  return { name, version, license, text: texts.join("\n\n") || standardText(manifest) };
}

/** The standard text of a license, for a package that comes without one. */
function standardText({ name, license, author }: Manifest): string {
  if (license !== "MIT") throw new Error(`${name}: expected the text of its license, ${license}, found none`);
  const holder = (typeof author === "object" ? author.name : author) ?? `the authors of ${name}`;
  return `The package has no text of its license. This is the text of SPDX, with the author that its package.json names.

MIT License

Copyright (c) ${holder}

${MIT}`;
}

/** From https://spdx.org/licenses/MIT.html. */
const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

const LINE = `${"-".repeat(80)}\n\n`;

/** Lines like that are in licenses, too: an entry begins with a heading. */
const BOUNDARY = new RegExp(`^${LINE}(?=\\S+ \\d\\S*, [^\\n]+\\n\\n)`, "m");

/** Each package once: it can be installed in several folders. */
export const uniqueOf = (entries: readonly Entry[]): Entry[] => [
  ...new Map(entries.map((entry) => [`${entry.name} ${entry.version}`, entry])).values(),
];

export const formatEntries = (entries: readonly Entry[]): string =>
  entries
    .map(({ name, version, license, text }) => `${name} ${version}, ${license}\n\n${text}\n`)
    .join(`\n${LINE}`);

export const parseEntries = (text: string): Entry[] =>
  text.split(BOUNDARY).map((entry) => {
    const [heading = "", ...lines] = entry.split("\n");
    const [, name = "", version = "", license = ""] = /^(\S+) (\S+), (.*)$/.exec(heading) ?? [];
    return { name, version, license, text: lines.join("\n").trim() };
  });
