import { type Dispatcher, interceptors, Pool } from "undici";

const { SERVICE = "", PORT = "" } = process.env;

export const SERVICE_URL = SERVICE;
export const LISTEN = { host: "127.0.0.1", port: Number(PORT) };

/** Whether the server has what one operates it with: see operated.ts. */
export const IS_OPERATED = process.env["OPERATED"] === "1";

/** Connections that keep responses, of each token by itself, as long as the service says; if this is compared. */
export const cached = (connections: Dispatcher): Dispatcher =>
  process.env["CACHED"] === "1" ? connections.compose(interceptors.cache({ type: "private" })) : connections;

export type Get = <Body>(path: string, authorization: string) => Promise<Body>;

/** Reads records through these connections. */
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
    // The service is ours: what it sends is what records.ts makes.
    return (await body.json()) as Body;
  };

/** Reads one record. */
export const get = getBy(cached(new Pool(SERVICE, { connections: 64 })));

/** `root.quick-start` as the path of its lists. */
const projectPath = (reference: string) => `/api/v1/${reference.split(".").slice(0, 2).join("/")}`;

/** `root.quick-start.7` as the path of its record, likewise `root.quick-start.builds.7`. */
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
/** A list of the records with these ids, such as `?query=id:1|2`. */
export const byIdsPath = (kind: "builds" | "groups", references: readonly string[]) => {
  const ids = references.map((reference) => reference.split(".").at(-1));
  return `${projectPath(references[0] ?? "")}/${kind}?query=id:${ids.join("|")}&limit=${ids.length}`;
};
