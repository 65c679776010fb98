/*
 * The modules of undici that the gateway uses. They are imported directly because the package's index also loads `fetch`, WebSockets and
 * caches, and with them Node's own copy of undici, which takes a fifth of the start-up time. These declarations are needed because the
 * package declares only its index.
 */

declare module "undici/lib/dispatcher/pool.js" {
  export { Pool as default } from "undici";
}

declare module "undici/lib/core/connect.js" {
  export { buildConnector as default } from "undici";
}

declare module "undici/lib/core/errors.js" {
  export { errors as default } from "undici";
}
