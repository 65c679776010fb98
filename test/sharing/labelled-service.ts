import { type Reply, startFake } from "../support/fake.ts";

/** The outcome of a request. */
export type Fate = "answered" | "refused" | "signed out" | "failed" | "unavailable" | "cut off";

const STATUSES: Readonly<Record<Exclude<Fate, "cut off">, number>> = {
  answered: 200,
  refused: 400,
  "signed out": 401,
  failed: 500,
  unavailable: 503,
};

interface Request {
  readonly path: string;
  /** The token and the number of the request: `ada_7`. */
  readonly label: string;
  /** The time at which the request arrived, by the test's clock. */
  readonly arrivedAt: number;
  readonly reply: (reply: Reply) => void;
  /** The number of the latest request when the response was sent. Infinite until then. */
  answeredAt: number;
}

/** A record, a list or nothing, whose statuses contain the label of the request. */
function bodyOf({ path, label }: Request): object {
  const record = (id: string) => ({ id: Number(id), last_status: label });
  const ids = /query=id%3A([\dC%]+)/.exec(path)?.[1]?.split("%7C");
  if (ids) return { count: ids.length, next: null, results: ids.map(record) };
  return record(/(\d+)\/$/.exec(path)?.[1] ?? "0");
}

/** Starts a service that delays each response until the test decides its outcome, and labels its responses with the request. */
export async function startLabelled(now: () => number) {
  const requests: Request[] = [];
  const pending: Request[] = [];
  const { url } = await startFake(({ path, headers }) => {
    const token = `${headers["authorization"]}`.replace("token ", "");
    const label = `${token}_${requests.length + 1}`;
    return new Promise<Reply>((reply) => {
      const request = { path, label, arrivedAt: now(), reply, answeredAt: Number.POSITIVE_INFINITY };
      requests.push(request);
      pending.push(request);
    });
  });
  return {
    url,
    pending: () => pending.length,
    count: () => requests.length,
    arrivedAt: (number: number) => requests[number - 1]?.arrivedAt ?? Number.NaN,
    answeredAt: (number: number) => requests[number - 1]?.answeredAt ?? Number.POSITIVE_INFINITY,
    /** The number of the latest request when a request to this path got its response; 0 if there is none. */
    answeredAtOf: (path: string) => requests.find((each) => each.path.endsWith(path))?.answeredAt ?? 0,
    /** Sends the response to one of the pending requests. */
    decide: (index: number, fate: Fate): void => {
      const [request] = pending.splice(index, 1);
      if (!request) return;
      const { path, label, reply } = request;
      request.answeredAt = requests.length;
      if (fate === "cut off") return reply((response) => response.destroy());
      if (fate === "answered" && path.endsWith("logs")) return reply({ text: label });
      const json = fate === "answered" ? bodyOf(request) : { detail: `said to ${label}` };
      return reply({ status: STATUSES[fate], json });
    },
  };
}
