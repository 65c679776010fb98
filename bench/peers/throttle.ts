const MINUTE_MS = 60_000;

/**
 * The throttle of the service: a maximum of requests of one token within any minute. Returns the seconds until the next one may
 * come, or null where this one may.
 */
export function createThrottle(perMinute: number): (token: string) => number | null {
  const byToken = new Map<string, number[]>();
  return (token) => {
    const now = performance.now();
    const times = byToken.get(token) ?? [];
    while ((times[0] ?? now) <= now - MINUTE_MS) times.shift();
    byToken.set(token, times);
    const [oldest = now] = times;
    if (times.length >= perMinute) return Math.ceil((oldest + MINUTE_MS - now) / 1_000);
    times.push(now);
    return null;
  };
}
