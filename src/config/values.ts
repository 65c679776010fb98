import { readFileSync } from "node:fs";
import * as z from "zod";
import { parseManifest, type TrustedDocuments } from "../engine/documents/persisted.ts";
import { type Renames, wordsOf } from "../graphql/federation/rename.ts";
import { schema } from "../graphql/schema.ts";
import { parseTrustedProxies } from "../http/identity.ts";
import { limitOf, type RateLimit } from "../rate.ts";

// Parsers for the values of settings. No message contains the value.

/** Rejects a value. */
export function refuse(context: z.RefinementCtx, ...messages: readonly string[]): never {
  for (const message of messages) context.addIssue({ code: "custom", message });
  return z.NEVER;
}

/** What `act` returns; null when it throws. */
export function attempt<Value>(act: () => Value): Value | null {
  try {
    return act();
  } catch {
    return null;
  }
}

/** The text of a file; null when it cannot be read. */
export const readText = (path: string): string | null => attempt(() => readFileSync(path, "utf8"));

export const UNREADABLE = "expected the path of a file that can be read";

export function whole(bounds: { readonly from: number; readonly to: number; readonly fallback: number }) {
  const error = `expected a whole number from ${bounds.from} to ${bounds.to}`;
  return z.coerce
    .number({ error })
    .int({ error })
    .min(bounds.from, { error })
    .max(bounds.to, { error })
    .default(bounds.fallback);
}
export const milliseconds = (fallback: number) => whole({ from: 1, to: 3_600_000, fallback });
export const count = (fallback: number) => whole({ from: 1, to: 1_000_000_000, fallback });
const onOrOff = z.enum(["on", "off"], { error: "expected on or off" });
export const isOn = onOrOff.transform((value) => value === "on");
export const onOff = (fallback: boolean) =>
  onOrOff.default(fallback ? "on" : "off").transform((value) => value === "on");
export const httpUrl = z
  .string()
  .refine(isPlainHttpUrl, "expected an http or https URL without user, query and fragment")
  .transform((text) => new URL(text));

function isPlainHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === "";
}

const listOf = (text: string): string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

/** The names that Relay expects, as a value of their own. */
const RELAY = "Node=ClusterNode,Entity=Node";

/** Parses `Node=ClusterNode,Entity=Node`, for which `relay` stands. */
export function parseTypeNames(text: string, context: z.RefinementCtx): Record<string, string> {
  const written = listOf(text).flatMap((item) => (item === "relay" ? listOf(RELAY) : [item]));
  const pairs = written.map((pair) => /^([A-Z]\w*)=([A-Z][A-Za-z\d]*)$/.exec(pair)?.slice(1) ?? []);
  const renames = Object.fromEntries(pairs) as Record<string, string>;
  const hasDuplicates = pairs.length > Object.keys(renames).length;
  const faults = pairs.every(({ length }) => length === 2)
    ? [...(hasDuplicates ? ["expected each type at most once, got one twice"] : []), ...faultsOf(renames)]
    : ["expected relay, or pairs such as Node=ClusterNode, separated by commas"];
  return faults.length === 0 ? renames : refuse(context, faults.join("; "));
}

/** Root types and built-in scalars keep their names. */
const FIXED = new Set(["Query", "Mutation", "Subscription", "ID", "String", "Int", "Float", "Boolean"]);

function faultsOf(renames: Renames): string[] {
  const words = wordsOf(schema, renames);
  const areTypes = Object.keys(renames).every((name) => words.has(name) && !FIXED.has(name));
  const areUnique = new Set(words.values()).size === words.size;
  return [
    ...(areTypes ? [] : ["expected pairs that begin with types of the schema, such as Node"]),
    ...(areUnique ? [] : ["expected names that no other type or root field has"]),
  ];
}

export function readManifest(path: string, context: z.RefinementCtx): TrustedDocuments {
  const text = readText(path);
  if (text === null) return refuse(context, UNREADABLE);
  return parseManifest(text) ?? refuse(context, "expected a JSON object of hashes and documents");
}

/** Parses `120/60`, requests in seconds. Null for `off`. */
export const rateLimit = z.string().transform((text, context): RateLimit | null => {
  if (text === "off") return null;
  const [requests = 0, seconds = 0] = (/^(\d{1,6})\/(\d{1,4})$/.exec(text) ?? []).slice(1).map(Number);
  if (requests > 0 && seconds > 0 && seconds <= 3_600) return limitOf(requests, seconds);
  return refuse(context, "expected requests in seconds such as 120/60, in at most 3600 seconds, or off");
});

export const trustedProxies = z
  .string()
  .default("")
  .refine(
    (text) => parseTrustedProxies(text) !== null,
    "expected a number of proxies, or addresses and networks such as 10.0.0.0/8, separated by commas",
  );

/** Parses exact origins, as browsers send them. */
export function parseOrigins(text: string, context: z.RefinementCtx): string[] {
  const origins = listOf(text);
  const areExact = origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin);
  return areExact
    ? origins
    : refuse(context, "expected origins such as https://app.example.com, separated by commas");
}
