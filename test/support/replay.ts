import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { startFake, type FakeResponse } from "./fake.ts";

/** One recorded exchange; `test/recordings/README.md` explains the keys. */
export interface Line {
  readonly case: string;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A string, or a decoded body in recordings of 0.4.4. */
  readonly body?: unknown;
  readonly status: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly text?: string | null;
  readonly body_base64?: string;
}

export const RECORDINGS = [
  "0.2.0-reads",
  "0.2.0-writes",
  "0.2.0-downloads",
  "0.4.4-samples",
  "0.4.4-beyond",
  "0.4.4-further",
  "0.2.0-creates",
  "0.4.4-creates",
] as const;

/** For recordings that omit the headers: the letter that makes up the token of each user. */
const LETTERS: Readonly<Record<string, string>> = { alice: "b", bob: "c", erin: "f" };

/** A line as it is in the file. Some files omit the headers, and use the name of a case several times. */
type Written = Omit<Line, "headers"> & Partial<Pick<Line, "headers">> & { readonly who: string };

/**
 * Reads the lines of one file of `test/recordings`. A case with the name of an earlier case gets its line number as a suffix: `searches
 * (56)`.
 */
export function readRecording(name: (typeof RECORDINGS)[number]): readonly Line[] {
  const seen = new Set<string>();
  return (
    readFileSync(new URL(`../recordings/${name}.jsonl`, import.meta.url), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      // Safe: the files are ours and never change.
      .map((line) => JSON.parse(line) as Written)
      .map((line, index) => {
        const title = seen.has(line.case) ? `${line.case} (${index + 1})` : line.case;
        seen.add(line.case);
        const headers = line.headers ?? { Authorization: `token ${LETTERS[line.who]?.repeat(64)}` };
        return { ...line, case: title, headers, ...("json" in line && { json: whole(line.json) }) };
      })
  );
}

/** Completes a page whose last rows were replaced with `… 2 more`: copies of the last recorded row take their place. */
function whole(json: unknown): unknown {
  const { results } = (json ?? {}) as { readonly results?: readonly unknown[] };
  const [, cut] = /^… (\d+) more$/.exec(String(results?.at(-1))) ?? [];
  if (!results || cut === undefined) return json;
  const kept = results.slice(0, -1);
  return {
    ...(json as object),
    results: [...kept, ...Array.from({ length: Number(cut) }, () => kept.at(-1))],
  };
}

/** The exchange that was recorded under this name. */
export function lineOf(lines: readonly Line[], name: string): Line {
  const line = lines.find((each) => each.case === name);
  if (!line) throw new TypeError(`no recording is called ${name}`);
  return line;
}

/**
 * Starts a service that replays its recordings over real HTTP. It identifies a request by its method, path, query parameters in any order
 * and encoding, and Authorization header. A trailing slash is optional, as on the recorded server. Equal requests all get the first
 * recorded response, so reads may be replayed in any order, but commands may not. Requests that were not recorded get 599.
 */
export function startReplay(lines: readonly Line[]) {
  const reported = new Map(
    // A Map keeps the last value of a key. The lines are reversed, so that the first recording of a request counts.
    lines
      .toReversed()
      .map((line) => [addressOf({ ...line, token: line.headers["Authorization"] }), responseOf(line)]),
  );
  return startFake(
    ({ method, path, headers }) =>
      reported.get(addressOf({ method, path, token: headers["authorization"] })) ?? UNKNOWN,
  );
}

const UNKNOWN: FakeResponse = { status: 599, text: "This request was not recorded." };

const addressOf = ({ method, path, token }: { method: string; path: string; token: unknown }): string =>
  JSON.stringify([method, ...plain(path), token]);

/** The second key of an order, which the gateway adds to make pages complete. Most orders were recorded without it. */
const SECOND_KEY = /,-(?:created|updated)_at$/;

const TIED = /\/(?:statuses|experiments\/\d+\/jobs)\/?$/;

/**
 * A path without its trailing slash, and the parameters of its query in alphabetical order. Of a sort order, only the first key is kept.
 */
export function plain(address: string): readonly [path: string, parameters: readonly string[]] {
  const [path = "", query] = address.split("?", 2);
  const parameters = [...new URLSearchParams(query)].map(
    ([name, value]) => `${name}=${name === "sort" ? value.replace(SECOND_KEY, "") : value}`,
  );
  // Parameters that the gateway adds and the recordings lack: the default order of lists, and the page size of lists with ties.
  const implied = TIED.test(path) ? /^limit=/ : /^sort=-updated_at$/;
  const wanted = parameters.filter((each) => !implied.test(each));
  return [path.replace(/\/$/, ""), wanted.toSorted()];
}

function responseOf({ status, responseHeaders, text, ...line }: Line): FakeResponse {
  const type = responseHeaders["content-type"];
  const headers = type === undefined ? {} : { "content-type": type };
  if ("json" in line && responseHeaders["content-encoding"] === "gzip") {
    const body = gzipSync(JSON.stringify(line.json));
    return { text: body, status, headers: { ...headers, "content-encoding": "gzip" } };
  }
  if ("json" in line) return { json: line.json, status, headers };
  const body = line.body_base64 === undefined ? (text ?? "") : Buffer.from(line.body_base64, "base64");
  return { text: body, status, headers };
}
