const UNITS = [
  ["GB", 1e9],
  ["MB", 1e6],
  ["kB", 1e3],
] as const;

/** A number of bytes as `3.4 MB`. */
export function bytesInWords(bytes: number): string {
  const [unit, size] = UNITS.find(([, least]) => bytes >= least) ?? ["bytes", 1];
  return size === 1 ? `${bytes} bytes` : `${(bytes / size).toFixed(1)} ${unit}`;
}
