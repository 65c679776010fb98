import { pathIn, type FakeResponse } from "../support/fake.ts";
import { type Answer, startBefore } from "../support/gateway.ts";

export const upTo = (last: number) => Array.from({ length: last }, (_, index) => `${index + 1}`);

export const buildRow = (id: string) => ({
  id: Number(id),
  unique_name: `ada.mnist.builds.${id}`,
  last_status: "succeeded",
});

export const buildRows = (ids: readonly string[]): FakeResponse => ({
  json: { count: ids.length, next: null, previous: null, results: ids.map(buildRow) },
});

export const wholeBuild = (id: string): FakeResponse => ({
  json: { ...buildRow(id), commit: `c${id}`, dockerfile: null },
});

export const REFUSED_FILTER: FakeResponse = {
  json: ["key `id` is not supported by query manager `build`."],
  status: 400,
};

export const UNKNOWN_LIST: FakeResponse = {
  text: "<!DOCTYPE html><title>Not found</title>",
  status: 404,
  headers: { "content-type": "text/html" },
};

/** Overrides of the service's responses to a list of builds by ids, and to a single build. */
export interface BuildAnswers {
  readonly byIds?: (ids: readonly string[], token: string) => FakeResponse | undefined;
  readonly alone?: (id: string) => FakeResponse | undefined;
  readonly env?: Record<string, string>;
}

/** Starts a service whose experiment n has the build n, behind a gateway that may batch. */
export async function startBuilds({ byIds = buildRows, alone = wholeBuild, env = {} }: BuildAnswers = {}) {
  const { service, ...gateway } = await startBefore(
    ({ path, headers }) => {
      const { pathname, searchParams } = new URL(path, "http://service");
      const [, project = "", kind, id] = /^\/api\/v1\/ada\/(\w+)\/(\w+)(?:\/(\d+)\/)?$/.exec(pathname) ?? [];
      if (kind === "builds" && id) return alone(id);
      if (kind === "builds") {
        return byIds(
          searchParams.get("query")?.replace("id:", "").split("|") ?? [],
          `${headers["authorization"]}`,
        );
      }
      if (kind !== "experiments") return undefined;
      const results = upTo(Number(searchParams.get("limit"))).map((each) => ({
        id: Number(each),
        build_job: `ada.${project}.builds.${each}`,
      }));
      return { json: { count: results.length, next: null, previous: null, results } };
    },
    { UPSTREAM_PROFILE: "polyaxon-0.4", ...env },
  );
  return {
    ...gateway,
    seen: service.seen,
    /** The requests for builds since the previous call, decoded and in alphabetical order. */
    calls: () =>
      service
        .seen()
        .splice(0)
        .map(({ method, path }) => `${method} ${decodeURIComponent(pathIn(path))}`)
        .filter((call) => call.includes("/builds"))
        .toSorted(),
  };
}

export const byIds = (ids: readonly string[], project = "mnist") =>
  `GET ada/${project}/builds?query=id:${ids.join("|")}&limit=100`;

export const alone = (ids: readonly string[]) => ids.map((id) => `GET ada/mnist/builds/${id}/`).toSorted();

/** A query of the builds of `count` experiments. */
export const buildsOf = (count: number, fields = "uniqueName status") =>
  `{ project(id: "ada.mnist") { experiments(first: ${count}) { nodes { buildJob { ${fields} } } } } }`;

interface Builds {
  readonly project: { readonly experiments: { readonly nodes: readonly { readonly buildJob: unknown }[] } };
}

export const buildsIn = ({ data }: Answer<unknown>) =>
  // Safe: the operation above selects nothing else.
  (data as Builds).project.experiments.nodes.map(({ buildJob }) => buildJob);

export const succeeded = (id: string) => ({ uniqueName: `ada.mnist.builds.${id}`, status: "SUCCEEDED" });
