import { startFake } from "../support/fake.ts";

export const SIGNED_IN = { authorization: "token t0ken" };

export const EXPERIMENT = {
  id: 3,
  unique_name: "ada.mnist.3",
  description: "A run.",
  last_status: "running",
  build_job: "ada.mnist.builds.7",
};

export const BUILD = {
  id: 7,
  unique_name: "ada.mnist.builds.7",
  description: "A build.",
  last_status: "succeeded",
};

/** A service with one experiment, and its build, which is answered when `opened` is fulfilled. */
export const startBuilt = (opened: Promise<void> = Promise.resolve()) =>
  startFake(async ({ path, method }) => {
    if (method === "POST") return { json: {} };
    if (path.includes("experiments")) return { json: EXPERIMENT };
    await opened;
    return { json: BUILD };
  });

export const DEFERRED = `{ experiment(id: "ada.mnist.3") { status ... @defer { buildJob { description } } } }`;

/** The pieces in which that comes. */
export const PIECES = [
  {
    data: { experiment: { status: "RUNNING" } },
    pending: [{ id: "0", path: ["experiment"] }],
    hasNext: true,
  },
  {
    incremental: [{ id: "0", data: { buildJob: { description: "A build." } } }],
    completed: [{ id: "0" }],
    hasNext: false,
  },
];
