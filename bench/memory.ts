import { Pool } from "undici";
import { metricsOf, type Running, type Service, startGateway, stopGateway } from "./processes.ts";
import { megabytes, row, say } from "./sheet.ts";

async function memoryOf(gateway: Running): Promise<{ resident: number; heap: number }> {
  const text = await metricsOf(gateway);
  const read = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  return { resident: read("process_resident_memory_bytes"), heap: read("nodejs_heap_size_used_bytes") };
}

const CALLERS = 16;
const DOCUMENTS = 200_000;
/** Number of documents between two measurements. */
const STEP = 50_000;

/** Sends documents that are all different, and measures the gateway's memory after every `STEP` of them. */
export async function measureMemory(service: Service): Promise<string[]> {
  const gateway = await startGateway(service);
  const pool = new Pool(gateway.url, { connections: CALLERS });
  const rows: string[] = [];
  const measure = async (sent: number) => {
    const { resident, heap } = await memoryOf(gateway);
    rows.push(
      row(`after ${sent}: resident, heap in use`, `${megabytes(resident)} MB, ${megabytes(heap)} MB`),
    );
    say(rows.at(-1) ?? "");
  };
  const send = async (number: number) => {
    const query = `query Q${number} { gateway { v${number}: version capabilities } __typename }`;
    const { body } = await pool.request({
      method: "POST",
      path: "/graphql",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query }),
    });
    if (!(await body.text()).includes(`"v${number}"`)) throw new Error(`no answer to document ${number}`);
  };
  await measure(0);
  for (let sent = 0; sent < DOCUMENTS; sent += STEP) {
    await Promise.all(
      Array.from({ length: CALLERS }, async (_, caller) => {
        for (let number = sent + caller; number < sent + STEP; number += CALLERS) await send(number);
      }),
    );
    await measure(sent + STEP);
  }
  await pool.destroy();
  await stopGateway(gateway);
  return rows;
}
