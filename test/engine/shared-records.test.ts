import { expect, test } from "vitest";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { firstCodeOf } from "../support/one-read.ts";

/** A service with three experiments of a group, whose builds are these. */
const startWith = (builds: readonly number[]) =>
  startFake(({ path }) => {
    const build = /builds\/(\d+)/.exec(path)?.[1];
    const record = { id: Number(build), unique_name: `ada.mnist.builds.${build}`, last_status: "succeeded" };
    if (build) return { json: { ...record, description: "A build." } };
    if (!path.includes("experiments?")) return { json: { id: 1 } };
    const results = builds.map((id, index) => ({
      id: index + 1,
      last_status: "running",
      build_job: `ada.mnist.builds.${id}`,
    }));
    return { json: { count: 3, next: null, previous: null, results } };
  });

const QUERY = `{
  group(id: "ada.mnist.1") {
    experiments(first: 3) { nodes { status buildJob { status description } again: buildJob { description } } }
  }
}`;

/** The lowest value of a limit with which the operation is answered. */
async function lowest(setting: string, builds: readonly number[]): Promise<number> {
  const upstream = await startWith(builds);
  let refused = 0;
  let answered = 2_000;
  const codes = new Set<string>();
  while (answered - refused > 1) {
    const limit = Math.floor((refused + answered) / 2);
    const { ask } = await startGateway({
      upstream,
      env: { UPSTREAM_PROFILE: "polyaxon-0.2", [setting]: `${limit}` },
    });
    const code = firstCodeOf(await ask(QUERY));
    codes.add(code);
    if (code === "ok") answered = limit;
    else refused = limit;
  }
  expect(codes).toEqual(new Set(["ok", "OPERATION_TOO_LARGE"]));
  return answered;
}

test.each(["MAX_RESULT_FIELDS", "MAX_RESULT_BYTES"])(
  "%s counts a record at each place that shows it",
  async (setting) => {
    const ofOne = await lowest(setting, [7, 7, 7]);
    expect(ofOne).toBeGreaterThan(20);
    expect(await lowest(setting, [7, 8, 9])).toBe(ofOne);
  },
);
