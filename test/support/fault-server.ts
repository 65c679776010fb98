import type { ServerResponse } from "node:http";
import { NOT_FOUND, onWire, type Seen, startFake, type FakeResponse } from "./fake.ts";

/** An exchange that must fail, and the response that the service would have sent. */
export interface Trouble {
  readonly response: ServerResponse;
  readonly right: FakeResponse;
}

/** A kind of failure. */
export type Fault = (trouble: Trouble) => unknown;

interface Order {
  readonly route: RegExp;
  readonly fault: Fault;
  /** Whether a call of the route must fail. Calls are counted from 1. */
  readonly isMeant: (call: number) => boolean;
  calls: number;
}

/** Starts a service over real HTTP. Its responses are correct until the test sets a fault for a route. */
export async function startFaultServer(answer: (seen: Seen) => FakeResponse | undefined) {
  let orders: Order[] = [];
  const service = await startFake((asked) => {
    const right = answer(asked) ?? NOT_FOUND;
    const order = orders.find(({ route }) => route.test(`${asked.method} ${asked.path}`));
    if (!order?.isMeant(++order.calls)) return right;
    return (response) => order.fault({ response: response.on("error", () => {}), right });
  });
  return {
    ...service,
    /** The requests in the order of arrival, such as `GET ada/mnist/jobs/3/`. */
    calls: (route = /./) =>
      service
        .seen()
        .map(onWire)
        .filter((call) => route.test(call)),
    /** Makes requests fail if their `METHOD path` matches. */
    fail: (route: RegExp, fault: Fault, isMeant: Order["isMeant"] = () => true) => {
      orders = [{ route, fault, isMeant, calls: 0 }, ...orders];
    },
    heal: () => void (orders = []),
  };
}

export type FaultServer = Awaited<ReturnType<typeof startFaultServer>>;
