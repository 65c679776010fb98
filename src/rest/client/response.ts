import type { UpstreamRequest } from "./client.ts";
import { UpstreamError, type UpstreamFacts } from "../../errors.ts";
import { parseJson } from "../api/reader.ts";
import type { WholeResponse } from "./transport.ts";

interface AnswerSettings {
  readonly onFault: (route: string, place: string) => void;
  /** Told how many bytes the answer will take, before it is made. May throw. */
  readonly onHeld: (bytes: number) => void;
  /** Lets others have their turn while a long answer is read. */
  readonly pause: () => Promise<void>;
}

/** Reads a response through the reader of its row, and tells of values that read as null because of their type. */
export async function readAnswer<Answer>(
  { row }: UpstreamRequest<Answer>,
  { status, body }: WholeResponse,
  { onFault, onHeld, pause }: AnswerSettings,
): Promise<Answer> {
  const reader = row.answer;
  // Whatever is in the body: the document says only that none is described.
  if (reader.form !== "json") return reader.read().answer;
  const facts: UpstreamFacts = {
    upstream: { method: row.method, route: row.path, status },
    // The command was taken; only what came of it cannot be told.
    ...(row.method === "GET" ? {} : { outcome: "unknown" }),
  };
  const json = parse(body, onHeld, facts);
  try {
    const { answer, faults } = await (reader.readInTurns?.(json, pause) ?? reader.read(json));
    for (const place of faults) onFault(row.path, place);
    return answer;
  } catch (fault) {
    if (!(fault instanceof UpstreamError)) throw fault;
    throw new UpstreamError(fault.code, fault.message, facts);
  }
}

function parse(body: Buffer, onHeld: AnswerSettings["onHeld"], facts: UpstreamFacts): unknown {
  try {
    return parseJson(body.toString("utf8"), onHeld);
  } catch (fault) {
    if (!(fault instanceof SyntaxError)) throw fault;
    // The parser's own message quotes the body.
    throw new UpstreamError("UPSTREAM_BAD_RESPONSE", "The service's answer is no JSON.", facts);
  }
}
