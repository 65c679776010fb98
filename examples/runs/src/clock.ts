const twoDigits = (whole: number) => String(whole).padStart(2, "0");

/** Seconds as `56:31` or `1:02:03`; a dash where there are none. */
export function clock(seconds: number | null): string {
  if (seconds === null) return "–";
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = twoDigits(Math.floor(seconds % 60));
  return hours ? `${hours}:${twoDigits(minutes)}:${rest}` : `${minutes}:${rest}`;
}
