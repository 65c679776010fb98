/** Headers of upstream requests that the gateway sets itself, and hop-by-hop headers. Settings and propagators cannot set them. */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set(
  (
    "accept accept-encoding authorization connection content-encoding content-length content-type expect " +
    "host if-range keep-alive proxy-authenticate proxy-authorization proxy-connection range te trailer " +
    "transfer-encoding upgrade x-request-id"
  ).split(" "),
);
