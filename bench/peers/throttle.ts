const MINUTE_MS = 60_000;

/**
 * Creates the throttle of the service: at most `perMinute` requests of one token within any minute. It returns null for an allowed request,
 * otherwise the seconds until the next one is allowed.
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
