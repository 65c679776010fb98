import { isForNow, isOwnFault } from "../../errors.ts";
import { type RequestScope, untilEnd } from "../../request-scope.ts";
import type { Outcome } from "./attempt.ts";
import type { Held } from "../../held.ts";
import type { OperationBounds } from "./operation-queue.ts";
import type { Replicas, SharedRead, SharedTurn } from "./replicas.ts";
import type { Dialect, UpstreamRequest } from "./request.ts";
import { type JsonSettings, readResponse } from "./response.ts";
import type { WholeResponse } from "./transport.ts";

/** The read that replicas may answer; null when this process has to ask the service itself. */
export function sharedReadOf(
  { endpoint, path, token, isFresh = false }: UpstreamRequest<unknown>,
  scope: RequestScope,
  { poll }: OperationBounds,
  { operationMaxAgeMs }: Replicas,
  { authorizationScheme, pathPrefix, headers }: Dialect,
): SharedRead | null {
  const maxAgeMs = poll ? poll.maxAgeMs : isFresh ? null : operationMaxAgeMs;
  const isOwn = token === undefined || token === scope.token;
  if (maxAgeMs === null || scope.token === null || !isOwn) return null;
  if (endpoint.method !== "GET" || endpoint.answer.form !== "json") return null;
  const onUnchanged = poll?.onUnchanged ?? null;
  const variant = JSON.stringify([authorizationScheme, pathPrefix, headers]);
  return { kind: poll ? "poll" : "operation", token: scope.token, path, variant, maxAgeMs, onUnchanged };
}

/** A request that replicas share. */
interface Shared<Answer> {
  readonly replicas: Replicas;
  readonly read: SharedRead;
  readonly request: UpstreamRequest<Answer>;
  readonly scope: RequestScope;
  readonly held: Held;
  readonly reading: JsonSettings;
}

/** Sends a request; its response is passed to `onResponse` before it is read. */
type SendOwn<Answer> = (outcome: Outcome<Answer>, onResponse?: (response: WholeResponse) => void) => void;

/** Takes the response that another process has got, or sends the request and tells the others what came of it. */
export async function callShared<Answer>(
  shared: Shared<Answer>,
  outcome: Outcome<Answer>,
  sendOwn: SendOwn<Answer>,
): Promise<void> {
  try {
    const found = await shared.replicas.ask(shared.scope, shared.read);
    if (!found) sendOwn(outcome);
    else if ("body" in found) {
      shared.read.onUnchanged?.(found.unchangedMs);
      // When it cannot be read, an own response tells what is wrong.
      readShared(shared, found.body, {
        succeeded: (answer, bytes) => outcome.succeeded(answer, bytes, found.ageMs),
        failed: () => sendOwn(outcome),
      });
    } else askFor(shared.read, found, outcome, sendOwn);
  } catch (error) {
    outcome.failed(error);
  }
}

/** Receives the last known response, with its age in milliseconds, or nothing. */
export interface LastOutcome<Answer> {
  readonly succeeded: (answer: Answer, bytes: number, ageMs: number) => void;
  readonly failed: () => void;
}

/** Takes the last response that any process has got. */
export async function takeLast<Answer>(shared: Shared<Answer>, outcome: LastOutcome<Answer>): Promise<void> {
  const { replicas, read, scope } = shared;
  const last = await untilEnd(scope, replicas.last({ ...read, maxAgeMs: replicas.staleMs }));
  if (!last) return outcome.failed();
  readShared(shared, last.body, {
    succeeded: (answer, bytes) => outcome.succeeded(answer, bytes, last.ageMs),
    failed: outcome.failed,
  });
}

function readShared<Answer>(
  { request, scope, held, reading }: Shared<Answer>,
  body: Buffer,
  outcome: Outcome<Answer>,
): void {
  let bytes = 0;
  const response = { status: 200, contentType: "application/json", retryAfter: null, body };
  const reader = {
    hold: (count: number) => {
      bytes += count;
      held.add(count);
    },
    succeed: (answer: Answer) => {
      // Whoever has received it for others has the token, and the service has accepted it.
      scope.caller.prove();
      request.note?.take();
      outcome.succeeded(answer, bytes);
    },
    fail: outcome.failed,
  };
  reading.takeTurn(() => readResponse(request, response, reading, reader));
}

/** Sends a request for which others wait. */
function askFor<Answer>(
  { onUnchanged }: SharedRead,
  turn: SharedTurn,
  outcome: Outcome<Answer>,
  sendOwn: SendOwn<Answer>,
): void {
  let body: Buffer | null = null;
  const told = {
    succeeded: (answer: Answer, bytes: number) => {
      if (body) {
        const unchangedMs = turn.offer(body);
        onUnchanged?.(unchangedMs);
      } else turn.release(true);
      outcome.succeeded(answer, bytes);
    },
    failed: (error: unknown) => {
      turn.release(!isForNow(error) && !isOwnFault(error));
      outcome.failed(error);
    },
  };
  sendOwn(told, (response) => {
    body = response.status === 200 ? response.body : null;
  });
}
