import type { DemoOptions } from "../../demo/service.ts";
import KEYS from "../contract/record-keys.json" with { type: "json" };
import { startDemoService } from "../support/demo-gateway.ts";

const noon = Date.UTC(2026, 5, 1, 12);

/** Starts a service whose clock shows noon until `wait` advances it. */
export async function openDemo(options: Omit<DemoOptions, "now"> = {}) {
  let time = noon;
  const demo = await startDemoService({ ...options, now: () => time });
  const tokens = new Map(demo.users.map(({ username, token }) => [username, token]));

  /**
   * Sends a request with a user's token (null: without one). Returns the response with its body decoded and without the service's address.
   */
  async function ask(line: string, body?: unknown, who: string | null = "ada") {
    const [method = "GET", path = ""] = line.split(" ");
    const headers = new Headers();
    if (who !== null) headers.set("authorization", `token ${tokens.get(who) ?? who}`);
    if (body !== undefined) headers.set("content-type", "application/json");
    const response = await fetch(`${demo.url}/api/v1/${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = (await response.text()).replaceAll(demo.url, "");
    const type = response.headers.get("content-type");
    return {
      status: response.status,
      type,
      text,
      json: type === "application/json" ? JSON.parse(text) : null,
    };
  }

  return {
    demo,
    ask,
    as: (who: string | null) => (line: string, body?: unknown) => ask(line, body, who),
    wait: (seconds: number) => {
      time += seconds * 1_000;
    },
  };
}

export const MNIST = "ada/mnist";

/** Keys that the document lacks, and that release 0.4.4 sends. */
const newerKeys: ReadonlySet<string> = new Set(
  "cloning_strategy backend framework run_env data_refs code_reference readme pod_id definition group_type traceback".split(
    " ",
  ),
);

/** Describes a response: nothing, text, bytes, the name of its record (found by the record's keys), or a page of such records. */
export function contentOf({
  type,
  text,
  json,
}: {
  type: string | null;
  text: string;
  json: unknown;
}): string {
  if (text === "") return "nothing";
  if (type === "text/html; charset=utf-8") return "text";
  if (type === "application/octet-stream") return "bytes";
  // Safe: the JSON responses to these rows are objects.
  const record = json as object;
  if (!("results" in record)) return recordNameOf(record);
  const last = (record.results as object[]).at(-1) ?? {};
  return `${Object.keys(record).join(" ") === "count next previous results" ? "page of " : ""}${recordNameOf(last)}`;
}

const sortedKeys = (keys: readonly string[]) => keys.toSorted().join(" ");

function recordNameOf(record: object): string {
  const documented = sortedKeys(Object.keys(record).filter((key) => !newerKeys.has(key)));
  const found = Object.entries(KEYS).find(([, keys]) => sortedKeys(keys.split(/\s+/)) === documented);
  return found?.[0] ?? documented;
}

export const idsIn = (answer: { json: { results: { id: number }[] } }) =>
  answer.json.results.map(({ id }) => id);
