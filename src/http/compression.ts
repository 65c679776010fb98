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

/** Whether an `accept-encoding` header accepts gzip: only a weight of zero refuses what it names. */
export function acceptsGzip(header = ""): boolean {
  const codings = header.toLowerCase().split(",");
  const named = (coding: RegExp) => codings.find((each) => coding.test(each));
  const found = named(/^\s*gzip\b/) ?? named(/^\s*x-gzip\b/) ?? named(/^\s*\*/);
  return found !== undefined && Number(/;\s*q=([^;]*)/.exec(found)?.[1] ?? 1) > 0;
}
