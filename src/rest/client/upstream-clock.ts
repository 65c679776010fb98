const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Parses the date in a header such as `Date` or `Retry-After` into milliseconds since 1970; NaN if it is invalid. */
export const httpDateMs = (value: string | null): number =>
  value !== null && HTTP_DATE.test(value) ? Date.parse(value) : Number.NaN;

/** Differences up to this are ignored, in milliseconds: the precision of `Date` (one second) and the network explain them. */
const TOLERANCE_MS = 2_000;

/** A clock that differs by more than this is not trusted, in milliseconds (one day). */
const MAX_SKEW_MS = 86_400_000;

/** The clock of the upstream service, by the `Date` of its responses. Until the first response, it equals the gateway's clock. */
export class UpstreamClock {
  #date: string | null = null;
  #skewMs = 0;

  /** Milliseconds since 1970. */
  readonly now = (): number => Date.now() + this.#skewMs;

  /** Compares the clocks by the `Date` of a response and the arrival time of its head, in milliseconds since 1970. */
  observe({ date, receivedAt }: { readonly date: string | null; readonly receivedAt: number }): void {
    // All responses of one second have the same `Date`, and the first of them is enough.
    if (date === this.#date) return;
    this.#date = date;
    const skewMs = httpDateMs(date) - receivedAt;
    const isSkew = Math.abs(skewMs) > TOLERANCE_MS && Math.abs(skewMs) < MAX_SKEW_MS;
    this.#skewMs = isSkew ? skewMs : 0;
  }
}
