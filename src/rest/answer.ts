import type { Readable } from "node:stream";
import type { Answering, ClientSettings, Exchange } from "./client.ts";
import { UpstreamError, type UpstreamFacts } from "./errors.ts";
import { parseJson, type Reading } from "./reader.ts";
import { TooLarge } from "./refusal.ts";

/** Reads an answer to its end, through the reader of its row. */
export async function readWhole<Answer>(
  exchange: Exchange<Answer>,
  { stream, status }: Answering,
  { maxJsonBytes, onFault }: ClientSettings,
): Promise<Answer> {
  const { path, answer: reader } = exchange.row;
  if (reader.form !== "json") {
    // Whatever is in it: the document says only that none is described.
    stream.on("error", () => {}).resume();
    return reader.read().answer;
  }
  const { answer, faults } = decode(exchange, reader.read, status, await readText(stream, maxJsonBytes));
  for (const place of faults) onFault?.(path, place);
  return answer;
}

/** Throws `TooLarge` when there is more than so many bytes. */
export async function readText(stream: Readable, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new TooLarge(`longer than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function decode<Answer>(
  { row }: Exchange<Answer>,
  read: (body: unknown) => Reading<Answer>,
  status: number,
  text: string,
): Reading<Answer> {
  const facts: UpstreamFacts = {
    upstream: { method: row.method, route: row.path, status },
    // The command was taken; only what came of it cannot be told.
    ...(row.method === "GET" ? {} : { outcome: "unknown" }),
  };
  let body: unknown;
  try {
    body = parseJson(text);
  } catch {
    // The parser's own message quotes the body.
    throw new UpstreamError("UPSTREAM_BAD_RESPONSE", "The service's answer is no JSON.", facts);
  }
  try {
    return read(body);
  } catch (fault) {
    if (!(fault instanceof UpstreamError)) throw fault;
    throw new UpstreamError(fault.code, fault.message, facts);
  }
}
