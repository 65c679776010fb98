import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import * as z from "zod";
import { isObject } from "../rest/api/record.ts";
import { attempt, readText, refuse, UNREADABLE } from "./values.ts";

// Settings for the connection to the service. No message contains a value, because values are or refer to secrets.

/** Headers that the gateway sets itself, and hop-by-hop headers. */
const RESERVED = new Set([
  "accept",
  "accept-encoding",
  "authorization",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "if-range",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "range",
  "te",
  "traceparent",
  "tracestate",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-request-id",
]);

const HEADER_NAME = /^[a-z][\w.-]*$/;
const HEADER_VALUE = /^[!-~](?:[\t -~]*[!-~])?$/;

/** Parses `{"x-api-key": "…"}`. Lowercases the names. */
function parseHeaders(text: string, context: z.RefinementCtx): Readonly<Record<string, string>> {
  const given = attempt(() => JSON.parse(text) as unknown);
  const headers = Object.entries(isObject(given) ? given : {}).map(
    ([name, value]) => [name.toLowerCase(), value] as const,
  );
  const texts = headers.flatMap(([name, value]) =>
    HEADER_NAME.test(name) && typeof value === "string" && HEADER_VALUE.test(value) ? [[name, value]] : [],
  );
  const names = headers.map(([name]) => name);
  const faults = [
    ...(isObject(given) && texts.length === headers.length
      ? []
      : ["expected a JSON object of header names and values"]),
    ...names
      .filter((name) => RESERVED.has(name))
      .map((name) => `${name}: expected a header that the gateway does not set itself`),
    ...(new Set(names).size < names.length ? ["expected each header at most once"] : []),
  ];
  if (faults.length > 0) return refuse(context, faults.join("; "));
  return Object.fromEntries(texts) as Record<string, string>;
}

function parseProxy(text: string, context: z.RefinementCtx): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isPlain = url?.protocol === "http:" && url.pathname === "/" && url.search + url.hash === "";
  // `%` stands only before two hexadecimal digits, and what they say is UTF-8.
  if (url && isPlain && attempt(() => decodeURIComponent(url.username + url.password)) !== null) return url;
  return refuse(
    context,
    "expected an http URL such as http://proxy.example.com:3128, in which user and password may stand",
  );
}

/** A setting with the path of a PEM file. Reads the file and validates it with `parse`. */
const pemFile = (expected: string, parse: (pem: string) => object) =>
  z.string().transform((path, context) => {
    const pem = readText(path);
    if (pem === null) return refuse(context, UNREADABLE);
    return attempt(() => parse(pem)) ? pem : refuse(context, expected);
  });

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gs;

/** Parses the certificates of a PEM file. Throws when there are none or one is invalid. */
function parseCertificates(pem: string): readonly [X509Certificate, ...X509Certificate[]] {
  const [first, ...others] = (pem.match(CERTIFICATE) ?? []).map((text) => new X509Certificate(text));
  if (!first) throw new TypeError("no certificate");
  return [first, ...others];
}

const certificateFile = pemFile("expected certificates in PEM", parseCertificates);
const keyFile = pemFile("expected a private key in PEM without a passphrase", (pem) => createPrivateKey(pem));

/** How the gateway reaches the service. */
export const upstreamSettings = {
  UPSTREAM_HEADERS: z
    .string()
    .default("{}")
    .transform(parseHeaders)
    .describe(
      'Headers of every upstream request, as a JSON object: `{"x-api-key": "…"}`. Headers that the gateway sets itself are rejected, except `user-agent`.',
    ),
  UPSTREAM_PROXY: z
    .string()
    .transform(parseProxy)
    .optional()
    .describe(
      "HTTP proxy for upstream requests, such as `http://user:password@proxy:3128`. It must allow CONNECT.",
    ),
  UPSTREAM_CA_FILE: certificateFile.optional().meta({
    description: "PEM file of the authorities that may sign the certificate of the service.",
    unset: "the authorities of Node",
  }),
  UPSTREAM_CERT_FILE: certificateFile
    .optional()
    .describe("PEM file of the client certificate that the gateway presents, with its chain."),
  UPSTREAM_KEY_FILE: keyFile
    .optional()
    .describe("PEM file of the private key of that certificate, without a passphrase."),
};

type Settings = z.output<z.ZodObject<typeof upstreamSettings>> & { readonly UPSTREAM_URL?: URL | undefined };

/** Checks settings that depend on each other. */
export function upstreamFaults(settings: Settings): string[] {
  const { UPSTREAM_URL: url, UPSTREAM_PROXY: proxy } = settings;
  const { UPSTREAM_CA_FILE: ca, UPSTREAM_CERT_FILE: cert, UPSTREAM_KEY_FILE: key } = settings;
  if (proxy && !url)
    return ["UPSTREAM_PROXY: expected UPSTREAM_URL as well, because the demo needs no proxy"];
  const useless = (["UPSTREAM_CA_FILE", "UPSTREAM_CERT_FILE", "UPSTREAM_KEY_FILE"] as const).find(
    (name) => settings[name] !== undefined && url?.protocol !== "https:",
  );
  if (useless) return [`${useless}: expected an https UPSTREAM_URL as well`];
  if (cert && !key) return ["UPSTREAM_KEY_FILE: expected the key of UPSTREAM_CERT_FILE, got none"];
  if (key && !cert) return ["UPSTREAM_CERT_FILE: expected the certificate of UPSTREAM_KEY_FILE, got none"];
  if (cert && key && !parseCertificates(cert)[0].checkPrivateKey(createPrivateKey(key))) {
    return [
      "UPSTREAM_KEY_FILE: expected the key of the first certificate in UPSTREAM_CERT_FILE, got another",
    ];
  }
  try {
    createSecureContext({ ca, cert, key });
    return [];
  } catch (error) {
    // Such as ERR_SSL_EE_KEY_TOO_SMALL.
    const code = error instanceof Error && "code" in error ? `${error.code}` : "unknown";
    const name = cert ? "UPSTREAM_CERT_FILE" : "UPSTREAM_CA_FILE";
    return [`${name}: expected what OpenSSL accepts, got a fault (${code})`];
  }
}
