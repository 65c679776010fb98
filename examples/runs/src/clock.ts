import { useEffect, useState } from "react";

const twoDigits = (whole: number) => String(whole).padStart(2, "0");

/** Seconds as `56:31` or `1:02:03`; a dash where there are none. */
export function clock(seconds: number | null): string {
  if (seconds === null) return "–";
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = twoDigits(Math.floor(seconds % 60));
  return hours ? `${hours}:${twoDigits(minutes)}:${rest}` : `${minutes}:${rest}`;
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

/** A time as `3 days ago`. */
export function ago(time: string | null, now = Date.now()): string {
  if (time === null) return "";
  const seconds = (Date.parse(time) - now) / 1_000;
  const [unit, size] = UNITS.find(([, length]) => -seconds >= length) ?? ["second", 1];
  return unit === "second" ? "just now" : relative.format(Math.ceil(seconds / size), unit);
}

/** The time, updated every second while somebody needs it. */
export function useNow(isNeeded: boolean): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isNeeded) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isNeeded]);
  return now;
}
