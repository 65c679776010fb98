import { expect, test } from "vitest";
import { listIn } from "../support/listed.ts";
import { profileFile } from "../support/tracker.ts";
import { inProject, startRows } from "./rows.ts";

test.each(
  ["UPDATED", "CREATED", "STARTED", "FINISHED"].flatMap((date) => [
    [date, "DESC", `-${date.toLowerCase()}_at`],
    [date, "ASC", `${date.toLowerCase()}_at`],
  ]),
)("ordering by %s_AT %s uses the server's sort with a secondary key", async (date, direction, sort) => {
  const { ask, service } = await startRows([]);
  await ask(
    inProject(`experiments(order: { by: { field: ${date}_AT }, direction: ${direction} }) { totalCount }`),
  );
  const second = date === "CREATED" ? "-updated_at" : "-created_at";
  expect(service.seen()[0]?.path).toBe(`/api/v1/ada/mnist/experiments?sort=${sort}%2C${second}`);
});

const TIED = "?sort=-updated_at%2C-created_at";

test.each([
  ["polyaxon-0.2", TIED],
  ["polyaxon-0.4", TIED],
  // The order of other servers is unknown. It is also unknown whether their order has a second key.
  [profileFile("extends: polyaxon-0.4\norders: {DEFAULT: null}"), ""],
])("a list without `order` is requested in the profile's default order: %s", async (profile, sort) => {
  const { ask, service } = await startRows([{ id: 1 }], { UPSTREAM_PROFILE: profile });
  const listed = (after: string | null) =>
    ask(
      `query ($after: String) { group(id: "ada.mnist.1") {
        experiments(first: 1, after: $after) { nodes { internalId } pageInfo { endCursor } }
      } project(id: "ada.mnist") { jobs { totalCount } } }`,
      { after },
    );
  const { endCursor } = listIn(await listed(null), "group.experiments").pageInfo;
  await listed(endCursor);
  const group = `/api/v1/ada/mnist/experiments?group=1${sort.replace("?", "&")}&limit=1`;
  const jobs = `/api/v1/ada/mnist/jobs${sort}`;
  const seen = service.seen().map(({ path }) => path);
  expect(seen.toSorted()).toEqual([group, `${group}&offset=1`, jobs, jobs]);
});
