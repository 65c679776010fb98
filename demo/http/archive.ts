import { buffer } from "node:stream/consumers";
import { createGzip } from "node:zlib";

import { pack } from "tar-stream";

/** Packs texts, by their paths, as a tar.gz archive. */
export function archiveOf(files: Readonly<Record<string, string>>, updatedAt: number): Promise<Buffer> {
  const archive = pack();
  for (const [name, text] of Object.entries(files)) {
    archive.entry({ name, mtime: new Date(updatedAt) }, text);
  }
  archive.finalize();
  return buffer(archive.pipe(createGzip()));
}
