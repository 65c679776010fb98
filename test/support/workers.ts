import { startFake, type FakeResponse, type Seen } from "./fake.ts";

interface Job {
  readonly seen: Seen;
  readonly arrived: number;
  /** When a worker started the request; null while the request is queued. */
  began: number | null;
  readonly respond: (response: FakeResponse) => void;
}

interface Workers {
  readonly workers: number;
  readonly serviceMs: number;
  /** A request that was queued for longer than this gets 504 when a worker takes it. */
  readonly timeoutMs: number;
  /** A request that arrives when more requests are queued gets 503. */
  readonly queue: number;
  readonly now: () => number;
  readonly responseTo: (seen: Seen) => FakeResponse;
}

/**
 * Starts a service with a number of workers and a bounded FIFO queue, like gunicorn behind nginx. `tick` must be called whenever the clock
 * has advanced.
 */
export async function startWorkers({ workers, serviceMs, timeoutMs, queue, now, responseTo }: Workers) {
  const jobs: Job[] = [];
  const began = () => jobs.filter((job) => job.began !== null);
  const drop = (job: Job, response: FakeResponse) => {
    jobs.splice(jobs.indexOf(job), 1);
    job.respond(response);
  };
  const assign = () => {
    for (const job of jobs.filter((each) => each.began === null)) {
      if (began().length === workers) return;
      if (now() - job.arrived > timeoutMs) drop(job, { text: "", status: 504 });
      else job.began = now();
    }
  };
  let longest = 0;
  const service = await startFake(
    (seen) =>
      new Promise<FakeResponse>((respond) => {
        if (jobs.length >= workers + queue) return respond({ text: "", status: 503 });
        jobs.push({ seen, arrived: now(), began: null, respond });
        longest = Math.max(longest, jobs.length);
        assign();
      }),
  );
  return {
    ...service,
    /** Responds to requests that have been served for long enough, and starts queued ones. */
    tick: () => {
      for (const job of began()) if (now() - (job.began ?? 0) >= serviceMs) drop(job, responseTo(job.seen));
      assign();
    },
    /** Number of requests without a response. */
    open: () => jobs.length,
    /** The maximum number of concurrently open requests. */
    longest: () => longest,
  };
}
