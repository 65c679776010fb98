import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { BlockList, isIP, isIPv6 } from "node:net";
import { specifiedScalarTypes } from "graphql";
import * as z from "zod";
import { parseManifest, type TrustedDocuments } from "../engine/documents/persisted.ts";
import { tryTo } from "../errors.ts";
import { type Renames, wordsOf } from "../graphql/federation/rename.ts";
import { schema } from "../graphql/schema.ts";
import { perSeconds, type RateLimit } from "../util/sliding-window.ts";
import { RESERVED_HEADERS } from "../rest/api/headers.ts";
import { isObject } from "../rest/api/record.ts";

// Parsers for the values of settings. No message contains a value, because some values are secrets or refer to secrets.

export function refuse(context: z.RefinementCtx, ...messages: readonly string[]): never {
  for (const message of messages) context.addIssue({ code: "custom", message });
  return z.NEVER;
}

export const readText = (path: string) => tryTo(() => readFileSync(path, "utf8"));

const UNREADABLE = "expected the path of a file that can be read";

export function whole(from: number, to: number, fallback: number) {
  const error = `expected a whole number from ${from} to ${to}`;
  return z.coerce.number({ error }).int({ error }).min(from, { error }).max(to, { error }).default(fallback);
}
export const milliseconds = (fallback: number) => whole(1, 3_600_000, fallback);
export const count = (fallback: number) => whole(1, 1_000_000_000, fallback);
export const isOn = z
  .enum(["on", "off"], { error: "expected on or off" })
  .transform((value) => value === "on");
export const httpUrl = z.string().transform((text, context) => {
  const url = tryTo(() => new URL(text));
  const isPlain = /^https?:$/.test(url?.protocol ?? "");
  if (url && isPlain && url.username + url.password + url.search + url.hash === "") return url;
  return refuse(context, "expected an http or https URL without user, query and fragment");
});

const listOf = (text: string): string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

/** Parses `Node=ClusterNode,Entity=Node`. `relay` is an abbreviation for these renames, which Relay expects. */
export function parseTypeNames(text: string, context: z.RefinementCtx): Record<string, string> {
  const written = listOf(text).flatMap((item) =>
    item === "relay" ? ["Node=ClusterNode", "Entity=Node"] : [item],
  );
  const pairs = written.map((pair) => /^([A-Z]\w*)=([A-Z][A-Za-z\d]*)$/.exec(pair)?.slice(1) ?? []);
  const renames = Object.fromEntries(pairs) as Record<string, string>;
  const hasDuplicates = pairs.length > Object.keys(renames).length;
  const issues = pairs.every(({ length }) => length === 2)
    ? [
        ...(hasDuplicates ? ["expected each type at most once, got one twice"] : []),
        ...renameIssuesOf(renames),
      ]
    : ["expected relay, or pairs such as Node=ClusterNode, separated by commas"];
  return issues.length === 0 ? renames : refuse(context, issues.join("; "));
}

/** Root types and built-in scalars keep their names. */
const FIXED_TYPE_NAMES = new Set(["Query", "Mutation", "Subscription", ...specifiedScalarTypes.map(String)]);

function renameIssuesOf(renames: Renames): string[] {
  const words = wordsOf(schema, renames);
  const unknown = Object.keys(renames).findIndex((name) => !words.has(name) || FIXED_TYPE_NAMES.has(name));
  const areUnique = new Set(words.values()).size === words.size;
  return [
    ...(unknown < 0
      ? []
      : [`expected pairs that begin with types of the schema, such as Node; pair ${unknown + 1} does not`]),
    ...(areUnique ? [] : ["expected names that no other type or root field has"]),
  ];
}

export function readManifest(path: string, context: z.RefinementCtx): TrustedDocuments {
  const text = readText(path);
  if (text === undefined) return refuse(context, UNREADABLE);
  return parseManifest(text) ?? refuse(context, "expected a JSON object of hashes and documents");
}

/** Parses a rate limit such as `120/60`: 120 requests in 60 seconds. Null for `off`. */
export const rateLimit = z.string().transform((text, context): RateLimit | null => {
  if (text === "off") return null;
  const [requests = 0, seconds = 0] = (/^(\d{1,6})\/(\d{1,4})$/.exec(text) ?? []).slice(1).map(Number);
  if (requests > 0 && seconds > 0 && seconds <= 3_600) return perSeconds(requests, seconds);
  return refuse(context, "expected requests in seconds such as 120/60, in at most 3600 seconds, or off");
});

/** Whether a proxy is trusted to report the address of its own client. `hop` is 0 for the peer of the connection. */
type TrustedProxies = (address: string, hop: number) => boolean;

/** Parses a number of proxies, or addresses and networks such as `10.0.0.0/8, ::1`. Null if no proxy is trusted. */
export function parseTrustedProxies(text: string, context: z.RefinementCtx): TrustedProxies | null {
  if (/^\d{1,2}$/.test(text.trim())) return (_, hop) => hop < Number(text);
  const items = listOf(text);
  if (items.length === 0) return null;
  const networks = new BlockList();
  for (const item of items) {
    const [address = "", prefix, ...more] = item.split("/");
    const bits = isIPv6(address) ? 128 : 32;
    const length = prefix === undefined ? bits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Infinity;
    if (isIP(address) === 0 || length > bits || more.length > 0)
      return refuse(
        context,
        "expected a number of proxies, or addresses and networks such as 10.0.0.0/8, separated by commas",
      );
    networks.addSubnet(address, length, bits === 128 ? "ipv6" : "ipv4");
  }
  return (address) => isIP(address) !== 0 && networks.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

export function parseOrigins(text: string, context: z.RefinementCtx): string[] {
  const origins = listOf(text);
  const areExact = origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin);
  return areExact
    ? origins
    : refuse(context, "expected origins such as https://app.example.com, separated by commas");
}

const FORBIDDEN_HEADERS = new Set([...RESERVED_HEADERS, "traceparent", "tracestate"]);

const HEADER_NAME = /^[a-z][\w.-]*$/;
const HEADER_VALUE = /^[!-~](?:[\t -~]*[!-~])?$/;

/** Parses `{"x-api-key": "…"}`. Lowercases the names. */
export function parseHeaders(text: string, context: z.RefinementCtx): Readonly<Record<string, string>> {
  const given = tryTo(() => JSON.parse(text) as unknown);
  const headers = Object.entries(isObject(given) ? given : {}).map(
    ([name, value]) => [name.toLowerCase(), value] as const,
  );
  const texts = headers.flatMap(([name, value]) =>
    HEADER_NAME.test(name) && typeof value === "string" && HEADER_VALUE.test(value) ? [[name, value]] : [],
  );
  const names = headers.map(([name]) => name);
  const issues = [
    ...(isObject(given) && texts.length === headers.length
      ? []
      : ["expected a JSON object of header names and values"]),
    ...names
      .filter((name) => FORBIDDEN_HEADERS.has(name))
      .map((name) => `${name}: expected a header that the gateway does not set itself`),
    ...(new Set(names).size < names.length ? ["expected each header at most once"] : []),
  ];
  if (issues.length > 0) return refuse(context, issues.join("; "));
  return Object.fromEntries(texts) as Record<string, string>;
}

export function parseProxy(text: string, context: z.RefinementCtx): URL {
  const url = tryTo(() => new URL(text));
  const isPlain = url?.protocol === "http:" && url.pathname === "/" && url.search + url.hash === "";
  // The percent-encoding of user and password must be valid UTF-8.
  if (url && isPlain && tryTo(() => decodeURIComponent(url.username + url.password)) !== undefined)
    return url;
  return refuse(
    context,
    "expected an http URL such as http://proxy.example.com:3128, in which user and password may stand",
  );
}

/** A setting with the path of a PEM file. Reads the file and validates it with `parse`. */
const pemFile = (expected: string, parse: (pem: string) => object) =>
  z.string().transform((path, context) => {
    const pem = readText(path);
    if (pem === undefined) return refuse(context, UNREADABLE);
    return tryTo(() => parse(pem)) ? pem : refuse(context, expected);
  });

const BEGIN_CERTIFICATE = "-----BEGIN CERTIFICATE-----";

/** Throws if the file contains no certificate, or an invalid one. */
export const certificateFile = pemFile("expected certificates in PEM", (pem) => {
  const [, first = "", ...others] = pem.split(BEGIN_CERTIFICATE);
  return [first, ...others].map((rest) => new X509Certificate(BEGIN_CERTIFICATE + rest));
});
export const keyFile = pemFile("expected a private key in PEM without a passphrase", createPrivateKey);
