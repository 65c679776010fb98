import type { ServerResponse } from "node:http";
import { NOT_FOUND, onWire, type Seen, startFake, type FakeResponse } from "./fake.ts";

/** One exchange that is to fail, and the response that the service would have sent. */
export interface Trouble {
  readonly response: ServerResponse;
  readonly right: FakeResponse;
}

/** A kind of failure. */
export type Fault = (trouble: Trouble) => unknown;

interface Order {
  readonly route: RegExp;
  readonly fault: Fault;
  /** Selects the calls of the route, counted from 1, that fail. */
  readonly isMeant: (call: number) => boolean;
  calls: number;
}

/** A service over real HTTP whose responses are correct until the test sets a fault for a route. */
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
    /** Lets requests fail whose `METHOD path` matches. */
    fail: (route: RegExp, fault: Fault, isMeant: Order["isMeant"] = () => true) => {
      orders = [{ route, fault, isMeant, calls: 0 }, ...orders];
    },
    heal: () => void (orders = []),
  };
}

export type FaultServer = Awaited<ReturnType<typeof startFaultServer>>;
