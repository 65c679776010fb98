import { Pool } from "undici";

const { SERVICE = "", PORT = "" } = process.env;

export const SERVICE_URL = SERVICE;
export const LISTEN = { host: "127.0.0.1", port: Number(PORT) };

const pool = new Pool(SERVICE, { connections: 64 });

/** Reads one record. */
export async function get<Body>(path: string, authorization: string): Promise<Body> {
  const { statusCode, body } = await pool.request({
    path,
    method: "GET",
    headers: { authorization, accept: "application/json" },
  });
  if (statusCode !== 200) throw new Error(`GET ${path}: expected 200, got ${statusCode}`);
  // The service is ours: what it sends is what records.ts makes.
  return (await body.json()) as Body;
}

/** `root.quick-start.7` as the path of its record, likewise `root.quick-start.builds.7`. */
const pathOf = (kind: string, reference: string): string => {
  const [owner, project, ...rest] = reference.split(".");
  return `/api/v1/${owner}/${project}/${kind}/${rest.at(-1)}`;
};

export const experimentPath = (reference: string) => pathOf("experiments", reference);
export const buildPath = (reference: string) => pathOf("builds", reference);
export const groupPath = (reference: string) => pathOf("groups", reference);
export const machinePath = (name: string) => `/api/v1/nodes/${name}`;
