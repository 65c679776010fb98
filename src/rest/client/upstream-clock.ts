const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Milliseconds of the date in a header such as `Date` or `Retry-After`; NaN if it is invalid. */
export const httpDateMs = (value: string | null): number =>
  value !== null && HTTP_DATE.test(value) ? Date.parse(value) : Number.NaN;

/** Maximum difference that the precision of `Date` (a second) and the network explain, in milliseconds. */
const TOLERANCE_MS = 2_000;

/** Maximum difference of a clock that is trusted, in milliseconds: a day. */
const MAX_SKEW_MS = 86_400_000;

/** The clock of the upstream service, as the `Date` of its responses shows it. Before the first one, it is the gateway's. */
export class UpstreamClock {
  #date: string | null = null;
  #skewMs = 0;

  /** Milliseconds since 1970. */
  readonly now = (): number => Date.now() + this.#skewMs;

  /** Compares the clocks by the `Date` of a response and the arrival time of its head, in milliseconds since 1970. */
  observe({ date, receivedAt }: { readonly date: string | null; readonly receivedAt: number }): void {
    // Many responses within a second have the same `Date`.
    if (date === this.#date) return;
    this.#date = date;
    const skewMs = httpDateMs(date) - receivedAt;
    const isSkew = Math.abs(skewMs) > TOLERANCE_MS && Math.abs(skewMs) < MAX_SKEW_MS;
    this.#skewMs = isSkew ? skewMs : 0;
  }
}
