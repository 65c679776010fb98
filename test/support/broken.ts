import { createHash } from "node:crypto";
import { passedOn, startFake, type FakeResponse } from "./fake.ts";

const headers = { "content-type": "application/json" };
const BROKEN: readonly FakeResponse[] = [
  { json: { detail: "Not found." }, status: 404 },
  { json: { detail: "You may not." }, status: 403 },
  { text: "<h1>Server Error</h1>", status: 500, headers },
  { json: { id: "no number", results: [null, 1] } },
  { json: [] },
];

/** Matches a list of experiments that is requested with a query. */
const LIST = /experiments\?/;

/** Starts a service in front of another one. Some addresses always fail, each in the same way every time. */
export const startBroken = (service: string, share: number, areListsKept: boolean) =>
  startFake((seen) => {
    const [first = 0, second = 0] = createHash("sha256").update(seen.path).digest();
    const isBroken = first < share * 256 && !(areListsKept && LIST.test(seen.path));
    return isBroken ? BROKEN[second % BROKEN.length] : passedOn(service, seen);
  });
