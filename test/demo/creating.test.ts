import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { openDemo } from "./demo-clock.ts";

interface Exchange {
  readonly case: string;
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
  readonly json: unknown;
}

const file = new URL("../recordings/0.4.4-creates.jsonl", import.meta.url);
const RECORDED = readFileSync(file, "utf8")
  .split("\n")
  .filter((line) => line !== "")
  // Safe: the file never changes.
  .map((line) => JSON.parse(line) as Exchange);

/** Keys whose values differ between servers, and keys that the demo does not send with every record. */
const DIFFERENT = new Set(
  "uuid pod_id created_at updated_at in_cluster tensorboard data_refs last_metric".split(" "),
);

/** The prefix of messages of the YAML library. */
const firstLine = (text: string): string => text.replace(/`\.\n[^]*$/, "`.");

/** A recorded value with the names and ids of the demo, without the values that differ. */
function translated(value: unknown, ids: ReadonlyMap<string, number>): unknown {
  if (typeof value === "number") return ids.get(String(value)) ?? value;
  if (typeof value === "string")
    return firstLine(
      value
        .replaceAll("bob/secret", "ada/speech")
        .replaceAll("alice", "grace")
        .replaceAll(/(?<=[./=])\d+(?!\d)/g, (digits) => String(ids.get(digits) ?? digits)),
    );
  if (Array.isArray(value)) return value.map((each) => translated(each, ids));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) =>
      DIFFERENT.has(key) ? [] : [[key, translated(each, ids)]],
    ),
  );
}

/** Error messages are compared up to the message of the YAML library, too. */
const shortened = (json: unknown): unknown =>
  JSON.parse(JSON.stringify(json), (_, value: unknown) =>
    typeof value === "string" ? firstLine(value) : value,
  );

const idOf = (json: unknown): number | undefined => Object(json).id;

describe("the demo, replaying the creation requests recorded from release 0.4.4,", () => {
  test("answers each request with the recorded status, keys and values", async () => {
    const { as } = await openDemo();
    const ask = as("grace");
    const ids = new Map<string, number>();
    for (const { case: name, method, path, body, status, json } of RECORDED) {
      const line = String(translated(`${method} ${path.replace("/api/v1/", "")}`, ids));
      const answer = await ask(line, translated(body, ids) ?? undefined);
      const id = idOf(json);
      if (status === 201 && id !== undefined) ids.set(String(id), idOf(answer.json) ?? 0);
      // The project is created with additional keys.
      const keysOf = (sent: unknown) =>
        method === "POST" && !path.endsWith("/projects") ? Object.keys(Object(sent)).toSorted() : [];
      expect({
        name,
        status: answer.status,
        keys: keysOf(answer.json),
        json: shortened(answer.json),
      }).toMatchObject({ name, status, keys: keysOf(json), json: translated(json, ids) });
    }
    expect(RECORDED).toHaveLength(51);
  });
});
