import { startFake } from "../support/fake.ts";
import made from "./build-of-a-run.json" with { type: "json" };

export const SIGNED_IN = { authorization: "token t0ken" };

/** The experiment and its build, and the payloads of `DEFERRED`. */
export const { experiment: EXPERIMENT, build: BUILD, payloads: PIECES } = made;

/** Starts a service with one experiment, and its build, which it sends when `opened` is fulfilled. */
export const startBuilt = (opened: Promise<void> = Promise.resolve()) =>
  startFake(async ({ path, method }) => {
    if (method === "POST") return { json: {} };
    if (path.includes("experiments")) return { json: EXPERIMENT };
    await opened;
    return { json: BUILD };
  });

export const DEFERRED = `{ experiment(id: "ada.mnist.3") { status ... @defer { buildJob { description } } } }`;
