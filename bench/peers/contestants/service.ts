import { type Dispatcher, interceptors, Pool } from "undici";

const { SERVICE = "", PORT = "" } = process.env;

export const SERVICE_URL = SERVICE;
export const LISTEN = { host: "127.0.0.1", port: Number(PORT) };

/** Whether the server runs with the production features of operated.ts. */
export const IS_OPERATED = process.env["OPERATED"] === "1";

/** Adds a response cache to the connections if CACHED is 1. It caches for each token separately, as long as the service allows. */
export const cached = (connections: Dispatcher): Dispatcher =>
  process.env["CACHED"] === "1" ? connections.compose(interceptors.cache({ type: "private" })) : connections;

export type Get = <Body>(path: string, authorization: string) => Promise<Body>;

/** Creates a function that reads records through the connections. */
export const getBy =
  (connections: Dispatcher): Get =>
  async <Body>(path: string, authorization: string) => {
    const { statusCode, body } = await connections.request({
      origin: SERVICE,
      path,
      method: "GET",
      headers: { authorization, accept: "application/json" },
    });
    if (statusCode !== 200) throw new Error(`GET ${path}: expected 200, got ${statusCode}`);
    // Safe: the service sends the records of records.ts.
    return (await body.json()) as Body;
  };

export const get = getBy(cached(new Pool(SERVICE, { connections: 64 })));

/** The path of a project's lists, from a reference such as `root.quick-start`. */
const projectPath = (reference: string) => `/api/v1/${reference.split(".").slice(0, 2).join("/")}`;

/** The path of a record, from a reference such as `root.quick-start.7` or `root.quick-start.builds.7`. */
const pathOf = (kind: string, reference: string): string =>
  `${projectPath(reference)}/${kind}/${reference.split(".").at(-1)}`;

export const experimentPath = (reference: string) => pathOf("experiments", reference);
export const buildPath = (reference: string) => pathOf("builds", reference);
export const groupPath = (reference: string) => pathOf("groups", reference);
export const machinePath = (name: string) => `/api/v1/nodes/${name}`;
export const jobsPath = (reference: string, first?: number | null) =>
  `${experimentPath(reference)}/jobs${first ? `?limit=${first}` : ""}`;
export const experimentsPath = (project: string, first: number) =>
  `${projectPath(project)}/experiments?limit=${first}`;
/** The path of a list of the referenced records, such as `…/builds?query=id:1|2`. */
export const byIdsPath = (kind: "builds" | "groups", references: readonly string[]) => {
  const ids = references.map((reference) => reference.split(".").at(-1));
  return `${projectPath(references[0] ?? "")}/${kind}?query=id:${ids.join("|")}&limit=${ids.length}`;
};
