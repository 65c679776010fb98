import { readConfig } from "../../src/config.ts";
import { onWire, pageOf, startFake, type FakeResponse } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { experimentId, rowOf } from "../support/live-service.ts";
import { quiet } from "../support/quiet.ts";
import { subscribe } from "../support/subscriber.ts";
import { refusal } from "../support/throttling.ts";

/** The fields of subscriptions to one run, with a selection that reports each change. */
const FIELDS = {
  runUpdated: "reason run { status }",
  experimentMetricRecorded: "internalId",
  runLogAppended: "text isRestarted",
};
export type Field = keyof typeof FIELDS;

export interface Received {
  /** Milliseconds of the fake clock. */
  readonly at: number;
  /** JSON of the result; null at the end of the stream. */
  readonly result: string | null;
}

export interface Request {
  readonly at: number;
  /** The request, such as `GET ada/mnist/experiments/1/`. */
  readonly call: string;
}

interface Run {
  readonly id: number;
  last_status: string;
}

const PATH = /^\/api\/v1\/ada\/mnist\/experiments\/(\d+)\/(logs\/|metrics)?/;

/** Counts requests in a sliding window; false above the limit. */
function throttle(requests: number, periodMs: number, now: () => number) {
  let times: number[] = [];
  return (): boolean => {
    times = times.filter((at) => at > now() - periodMs);
    if (times.length >= requests) return false;
    times.push(now());
    return true;
  };
}

/**
 * Starts a service with a project of experiments, and with the throttle of release 0.4.4: 120 requests per minute, and 20 per second for
 * metrics. In front of the service is a gateway with default settings and a fake clock.
 */
export async function startBusyProject(size: number, env: Record<string, string> = {}) {
  const time = fakeClock();
  const { now } = time.clock;
  const runs = new Map(
    Array.from({ length: size }, (_, index): [string, Run] => [
      `${index + 1}`,
      { id: index + 1, last_status: "running" },
    ]),
  );
  const logs = new Map([...runs.keys()].map((id) => [id, "begun\n"]));
  const metrics = new Map([...runs.keys()].map((id) => [id, [1]]));
  const requests: Request[] = [];
  let refused = 0;
  let events = 0;
  const allows = { common: throttle(120, 60_000, now), metrics: throttle(20, 1_000, now) };
  const service = await startFake((seen): FakeResponse | undefined => {
    requests.push({ at: now(), call: onWire(seen) });
    const [, id = "", part] = PATH.exec(seen.path) ?? [];
    if (!allows[part === "metrics" ? "metrics" : "common"]()) {
      refused++;
      return refusal(1);
    }
    if (id === "") {
      const query = new URL(seen.path, "http://service").searchParams.get("query") ?? "";
      const ids = query.replace("id:", "").split("|");
      return pageOf([...runs.values()].filter((run) => ids.includes(`${run.id}`)).map(rowOf), seen);
    }
    const run = runs.get(id);
    if (!run) return undefined;
    if (part === "logs/") return { text: logs.get(id) ?? "" };
    const records = metrics.get(id) ?? [];
    return part === "metrics"
      ? pageOf(
          records.map((each) => ({ id: each, values: {} })),
          seen,
        )
      : { json: rowOf(run) };
  });
  const { LIVE_REQUESTS_PER_MINUTE: perMinute } = readConfig({});
  const defaults = {
    UPSTREAM_PROFILE: "polyaxon-0.4",
    UPSTREAM_RATE_LIMIT: "120/60",
    LIVE_REQUESTS_PER_MINUTE: `${perMinute}`,
  };
  const gateway = await startGateway({ upstream: service, clock: time.clock, env: { ...defaults, ...env } });

  /** Subscribes to a field of a run, and collects the received events with their times. */
  const watch = async (field: Field, id: number): Promise<Received[]> => {
    const query = `subscription ($id: ID!) { ${field}(id: $id) { ${FIELDS[field]} } }`;
    const stream = await subscribe(gateway.url, { query, variables: { id: experimentId(id) } });
    const received: Received[] = [];
    const note = (result: string | null): void => {
      events++;
      received.push({ at: now(), result });
    };
    const collect = async (): Promise<void> => {
      for (let result = await stream.next(); result; result = await stream.next())
        note(JSON.stringify(result));
      note(null);
    };
    // If a test ends first, it destroys its streams.
    collect().catch(() => {});
    return received;
  };

  /** Advances the clock from timer to timer, to `until` milliseconds after the start. Waits before each step until all work has ended. */
  const pass = async (until: number): Promise<void> => {
    for (;;) {
      await quiet(() => requests.length + events);
      if (now() >= until) return;
      time.advance(Math.min(until, Math.max(time.timers()[0] ?? until, now() + 1)) - now());
    }
  };

  return {
    ...gateway,
    now,
    watch,
    pass,
    requests: (): readonly Request[] => requests,
    refused: () => refused,
    setStatus: (id: number, status: string): void =>
      void Object.assign(runs.get(`${id}`) ?? {}, { last_status: status }),
    remove: (id: number): void => void runs.delete(`${id}`),
    writeLog: (id: number, text: string): void => void logs.set(`${id}`, text),
    appendLog: (id: number, text: string): void => void logs.set(`${id}`, `${logs.get(`${id}`)}${text}`),
    record: (id: number, metric: number): void => void metrics.get(`${id}`)?.push(metric),
  };
}
