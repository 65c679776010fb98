/** Pages that may call the gateway, by the exact origins that browsers send, or by what origins look like. */
export type Origins = readonly (string | RegExp)[];

/** Pages that a server on this machine serves, such as that of a bundler while a frontend is written. */
export const LOCAL_PAGES = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/**
 * Whether a page is one of the gateway's own at this machine. A name that is rebound to this machine looks like an own page as well,
 * but not like this machine.
 */
export const isOwnLocalPage = (origin: string, host: string | undefined): boolean =>
  LOCAL_PAGES.test(origin) && new URL(origin).host === host;

export const isAmong = (origins: Origins, origin: string): boolean =>
  origins.some((each) => (typeof each === "string" ? each === origin : each.test(origin)));
