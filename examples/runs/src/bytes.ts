/** A number of bytes as `3.4 MB`. */
export function bytesInWords(bytes: number): string {
  if (bytes < 1e3) return `${bytes} bytes`;
  const [unit, size] = bytes < 1e6 ? ["kB", 1e3] : ["MB", 1e6];
  return `${(bytes / size).toFixed(1)} ${unit}`;
}
