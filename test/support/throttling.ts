import { startFake, type FakeResponse } from "./fake.ts";
import { experimentIn, RUNNING_RECORD } from "./one-read.ts";

const PERIOD_MS = 60_000;

/**
 * Starts a service that accepts `perMinute` requests per token in each minute of a clock, as known servers do. It counts requests on
 * arrival. `answering` may delay the responses.
 */
export async function startThrottling(
  perMinute: number,
  now: () => number,
  answering: () => Promise<void> = async () => {},
  record: object = RUNNING_RECORD,
) {
  const times = new Map<string, number[]>();
  let refused = 0;
  const answer = (token: string): FakeResponse | null => {
    const recent = (times.get(token) ?? []).filter((time) => time > now() - PERIOD_MS);
    times.set(token, recent);
    if (recent.length < perMinute) {
      recent.push(now());
      return null;
    }
    refused++;
    return refusal(Math.ceil((PERIOD_MS - (now() - (recent[0] ?? 0))) / 1_000));
  };
  const service = await startFake(async ({ path, headers }) => {
    const refusing = answer(headers["authorization"]?.toString() ?? "");
    await answering();
    return refusing ?? { json: { ...record, id: experimentIn(path) } };
  });
  return { ...service, refused: () => refused };
}

export const refusal = (seconds: number): FakeResponse => ({
  json: { detail: "Request was throttled." },
  status: 429,
  headers: { "retry-after": `${seconds}` },
});
