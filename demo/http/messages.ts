import type { IncomingHttpHeaders, IncomingMessage } from "node:http";

import type { Store, User } from "../store.ts";

/** A routed request whose token has been looked up. */
export interface DemoRequest {
  readonly store: Store;
  /** Null if there is no token that the service understands. */
  readonly caller: User | null;
  /** The parameters of the path. */
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: URLSearchParams;
  /** The request's scheme, Host header and path, from which links to other pages are made. */
  readonly address: string;
  readonly headers: IncomingHttpHeaders;
  /** Decodes the JSON body. Returns an empty object if there is none. */
  readonly body: () => unknown;
}

export interface DemoResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

export type Handler = (request: DemoRequest) => DemoResponse | Promise<DemoResponse>;

export function json(status: number, value: unknown): DemoResponse {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

/** A response without a body, which real servers send for most commands. */
export function empty(status: number): DemoResponse {
  return { status, headers: { "content-type": "text/html; charset=utf-8" }, body: "" };
}

/** Thrown to respond with an error; the body has one of the shapes that real servers use. */
export class HttpError extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    super(`responds with ${status}`);
    this.status = status;
    this.body = body;
  }
}

export function notFound(): HttpError {
  return new HttpError(404, { detail: "Not found." });
}

export function forbidden(): HttpError {
  return new HttpError(403, { detail: "You do not have permission to perform this action." });
}

const maxBodyBytes = 1_048_576;

/** Reads a body to its end, so that the client can read the response, but rejects one that is too long. */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  // A request without an encoding set yields buffers.
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= maxBodyBytes) chunks.push(chunk);
  }
  if (length > maxBodyBytes) {
    throw new HttpError(413, { detail: `Request body exceeded ${maxBodyBytes} bytes.` });
  }
  return Buffer.concat(chunks);
}

/** Decodes a body as JSON; an empty one counts as an empty object. */
export function decodeBody(bytes: Buffer, contentType = ""): unknown {
  if (bytes.length === 0) return {};
  if (!/^application\/json\b/i.test(contentType)) {
    throw new HttpError(415, { detail: `Unsupported media type "${contentType}" in request.` });
  }
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    const reason = cause instanceof SyntaxError ? cause.message : "Expecting value";
    throw new HttpError(400, { detail: `JSON parse error - ${reason}` });
  }
}

type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields of a body that must be an object. */
export function fieldsOf(body: unknown): Fields {
  if (isFields(body)) return body;
  if (body === null) throw new HttpError(400, { non_field_errors: ["No data provided"] });
  throw new HttpError(400, {
    non_field_errors: [`Invalid data. Expected a dictionary, but got ${pythonType(body)}.`],
  });
}

const pythonTypes = new Map<string, string>([
  ["string", "str"],
  ["boolean", "bool"],
]);

/** The name of a value's type in error messages, which come from a service written in Python. */
export function pythonType(value: unknown): string {
  if (Array.isArray(value)) return "list";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "float";
  return pythonTypes.get(typeof value) ?? "NoneType";
}

/** Accepts a value as a string. Numbers are accepted and converted. */
export function textField(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  throw new HttpError(400, { [name]: ["Not a valid string."] });
}

/** Accepts a value as a name: letters, digits, `-` and `_`. */
export function slugField(name: string, value: unknown): string {
  const text = textField(name, value);
  if (/^[-\w]+$/.test(text)) return text;
  throw new HttpError(400, {
    [name]: ["Enter a valid “slug” consisting of letters, numbers, underscores or hyphens."],
  });
}

/** Accepts a value as a boolean. */
export function flagField(name: string, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw new HttpError(400, { [name]: ["Not a valid boolean."] });
}

/** Accepts a value as a list of strings. */
export function textsField(name: string, value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map((each) => textField(name, each));
  const error = `Expected a list of items but got type "${pythonType(value)}".`;
  throw new HttpError(400, { [name]: [error] });
}
