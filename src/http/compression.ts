import { pipeline } from "node:stream";
import { promisify } from "node:util";
import { constants, createGzip, gzip } from "node:zlib";

const gzipInBackground = promisify(gzip);

/** Compresses in the thread pool, without blocking the event loop. */
export const compress = (bytes: Uint8Array | string): Promise<Buffer> => gzipInBackground(bytes);

/** Compresses a body as it is read, each part so that it can be read when it arrives. Breaks off when the body does. */
export async function* compressEach(body: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  // Its error also destroys the stream that is read here.
  yield* pipeline(body, createGzip({ flush: constants.Z_SYNC_FLUSH }), () => {});
}

/**
 * Whether an `accept-encoding` header accepts gzip. Own code: with a single encoding on offer there is nothing to
 * negotiate except whether its weight is above zero.
 */
export function acceptsGzip(header: string | undefined): boolean {
  const weights = new Map((header ?? "").toLowerCase().split(",").map(weightOf));
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}

/** Parses `gzip;q=0.5`. The weight defaults to 1. */
function weightOf(item: string): [coding: string, weight: number] {
  const [coding = "", ...parameters] = item.split(";").map((part) => part.trim());
  const weight = parameters.find((parameter) => parameter.startsWith("q="));
  return [coding, weight === undefined ? 1 : Number(weight.slice(2))];
}
