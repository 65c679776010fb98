import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** The size of a block: headers take one, files are padded to whole ones. */
const BLOCK = 512;

/** Packs strings, keyed by paths of less than 100 bytes, as a tar.gz archive. */
export function archiveOf(files: Readonly<Record<string, string>>, updatedAt: number): Promise<Buffer> {
  const blocks = Object.entries(files).flatMap(([name, text]) => {
    const content = Buffer.from(text);
    const padding = Buffer.alloc(-content.length & (BLOCK - 1));
    return [headerOf(name, content.length, updatedAt), content, padding];
  });
  return promisify(gzip)(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]));
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, "0");

/** The header of a file, as POSIX describes ustar: strings and octal numbers at fixed offsets. */
function headerOf(name: string, size: number, updatedAt: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0);
  header.write(octal(0o644, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(size, 11), 124);
  header.write(octal(Math.floor(updatedAt / 1000), 11), 136);
  // The checksum counts itself as blanks.
  header.write(" ".repeat(8), 148);
  header.write("0", 156);
  header.write("ustar\u000000", 257);
  header.write(
    `${octal(
      header.reduce((sum, byte) => sum + byte),
      6,
    )}\0 `,
    148,
  );
  return header;
}
