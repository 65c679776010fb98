import { onTestFinished } from "vitest";
import { type Demo, type DemoOptions, startDemo } from "../../demo/service.ts";
import { pathIn } from "./fake.ts";
import { type GatewayOptions, startGateway } from "./gateway.ts";

/** A fixed clock, so that the demo's responses are the same in every run. */
export const still = () => Date.parse("2026-06-01T12:00:00Z");

/** Starts a demo service that records the requests it receives. It is closed when the test ends. */
export async function startDemoService(options: DemoOptions = {}) {
  let calls: string[] = [];
  const demo = await startDemo({ ...options, onCall: (call) => calls.push(call) });
  onTestFinished(() => demo.close());
  return {
    ...demo,
    /** The requests in the order of arrival, such as `GET /api/v1/ada/mnist/jobs/1/`. */
    calls: () => [...calls],
    forget: () => void (calls = []),
  };
}

/**
 * Starts a new demo, and a gateway in front of it that sends the token of the user ada. `calls` returns the requests that the demo has
 * received since `calls` was last called.
 */
export async function startDemoGateway(
  options: DemoOptions & Omit<GatewayOptions, "upstream" | "token"> = {},
) {
  const demo = await startDemoService(options);
  const token = tokenOf(demo, "ada");
  const gateway = await startGateway({ ...options, upstream: demo, token, exampleToken: token });
  return { ...gateway, demo, calls: () => callsOf(demo) };
}

/** The token of a user of the demo. */
export function tokenOf(demo: Demo, username: string): string {
  const user = demo.users.find((each) => each.username === username);
  if (!user) throw new TypeError(`the demo has no user ${username}`);
  return user.token;
}

/** The requests that the demo has received since the last call, in alphabetical order and without their common prefix. */
export function callsOf(demo: Awaited<ReturnType<typeof startDemoService>>): string[] {
  const calls = demo.calls().map((call) => call.replace(/(?<= ).*/, pathIn));
  demo.forget();
  return calls.toSorted();
}

/**
 * Starts two gateways in front of one demo with a fixed clock, to compare the result of each for a document, and the requests that each
 * causes.
 */
export async function startTwo(
  one: Omit<GatewayOptions, "upstream">,
  other: Omit<GatewayOptions, "upstream">,
  before: (demo: Demo) => { readonly url: string } | Promise<{ readonly url: string }> = (demo) => demo,
) {
  const demo = await startDemoService({ now: still });
  const given = { upstream: await before(demo), token: tokenOf(demo, "ada") };
  const [first, second] = [
    await startGateway({ ...given, ...one }),
    await startGateway({ ...given, ...other }),
  ];
  return async (document: string, variables: object = {}) => {
    const answer = await first.ask<object, object>(document, variables);
    const calls = callsOf(demo);
    const expected = await second.ask<object, object>(document, variables);
    return { answer, calls, expected, expectedCalls: callsOf(demo) };
  };
}
