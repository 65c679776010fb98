import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";

const RESULTS = new URL("RESULTS.md", import.meta.url);

/** Matches a section of RESULTS.md, from `<!-- measured: peers -->` to `<!-- end -->`. */
const section = (name: string) => new RegExp(`(<!-- measured: ${name} -->\n)([^]*?)(<!-- end -->)`);

/** Returns the results in a section of RESULTS.md. */
export function readResults(name: string): string {
  const text = section(name).exec(readFileSync(RESULTS, "utf8"))?.[2];
  if (text === undefined) throw new Error(`RESULTS.md: expected a section ${name}`);
  return text.trim();
}

/** Replaces the results of a section of RESULTS.md. */
export function writeResults(name: string, results: string): void {
  const before = readFileSync(RESULTS, "utf8");
  if (!section(name).test(before)) throw new Error(`RESULTS.md: expected a section ${name}`);
  writeFileSync(
    RESULTS,
    before.replace(
      section(name),
      (_, start: string, _old: string, end: string) => `${start}\n${results}\n\n${end}`,
    ),
  );
}

const loadNow = () => loadavg()[0]?.toFixed(1);
const loadBefore = loadNow();

/** One line with the date, the machine and its load. */
export function conditions(): string {
  const [processor] = cpus();
  const machine = `${process.platform} ${release()}, Node ${process.version}, ${cpus().length} cores (${processor?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `${new Date().toISOString().slice(0, 10)}, ${machine}. Load average ${loadBefore} before, ${loadNow()} after.`;
}
