import { type ExecutionResult, lexicographicSortSchema } from "graphql";
import type { TrustedDocuments } from "../../engine/documents/persisted.ts";
import type { Operation } from "../../engine/engine.ts";
import { rejection } from "../../engine/errors.ts";
import { printPlain, withoutFederation } from "../../graphql/federation/subgraph.ts";
import { parseObject, PRIVATE } from "../graphql/encoding.ts";
import type { ProtocolSettings } from "../operation.ts";
import type { Execute } from "../router.ts";
import type { Rename } from "../shipped-operations.ts";
import { readToolOperations, type ToolType } from "./documents.ts";
import { reject } from "../rejection.ts";
import { answerMessage, instructionsFor, openServer } from "./server.ts";
import {
  type RunOperation,
  toolOfOperation,
  toolOfOwnDocuments,
  toolOfSchema,
  toToolResult,
} from "./tools.ts";

interface McpSettings extends ProtocolSettings {
  readonly rename: Rename;
  readonly version: string;
  /** The types of operations that agents may run. */
  readonly types: readonly ToolType[];
  /** The only documents that run; null when every document runs. */
  readonly trusted: TrustedDocuments | null;
  readonly isIntrospectable: boolean;
  /** Most tokens of a document. */
  readonly maxTokens: number;
}

const NO_BODY = Buffer.alloc(0);

/** Longest GraphQL result of a tool: its agent reads all of it, about 25,000 tokens. */
const MAX_RESULT_BYTES = 100_000;

/** Creates the handler of `/mcp`. No sessions: any replica answers any message. */
export async function createMcpHandler(settings: McpSettings): Promise<Execute> {
  const { schema, engine, delivery, version, types, trusted, heldBytes, openOperation } = settings;
  const operations = await readToolOperations(schema, trusted, settings.rename);
  const shown = settings.isIntrospectable ? lexicographicSortSchema(withoutFederation(schema)) : null;
  const tools = [
    ...operations.filter(({ type }) => types.includes(type)).map(toolOfOperation),
    ...(trusted ? [] : types.map((type) => toolOfOwnDocuments(type, shown !== null, settings.maxTokens))),
    ...(shown && !trusted ? [toolOfSchema(shown)] : []),
  ];
  const sdl = shown && printPlain(schema).trimEnd();
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]));
  const parts = { version, tools: byName, instructions: instructionsFor(byName), sdl };

  const resultOf = async (
    operation: Operation,
    ...[params, type]: Parameters<RunOperation>
  ): Promise<ExecutionResult> => {
    const given = await engine.typeOf(params, operation.scope);
    const limits = { isReadOnly: type === "query", maxBytes: MAX_RESULT_BYTES };
    if (given === null || given === type) return engine.run(operation, params, limits);
    operation.facts.type = given;
    operation.facts.codes = ["BAD_REQUEST"];
    return { errors: [rejection(`Expected a ${type}, got a ${given}.`, "BAD_REQUEST")] };
  };

  return async (response, body, state) => {
    const { requestId, caller } = state.scope;
    const { req: request } = response;
    const execute: RunOperation = async (...given) => {
      const { operation, run, end } = openOperation(request, state);
      const result = await run(() => resultOf(operation, ...given));
      end(200);
      return toToolResult(engine.finish(result, requestId, operation.extensions));
    };
    let answer: Response;
    try {
      const message = parseObject(body ?? NO_BODY);
      heldBytes.holdJson(state.scope, message);
      answer = await answerMessage(message, request.headers, () => openServer(parts, execute));
    } catch (error) {
      return reject(response, "mcp", settings.publicError(error), requestId);
    } finally {
      // Most messages run no operation, which would have ended the scope.
      state.scope.end("done");
    }
    const headers = {
      ...Object.fromEntries(answer.headers),
      "x-request-id": requestId,
      "cache-control": PRIVATE,
    };
    await delivery.send(response, { status: answer.status, headers, body: await answer.text() }, caller);
  };
}
