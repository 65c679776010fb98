import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The page and the gateway share an address, so no CORS is needed; in production, a proxy of yours does this. */
const gateway = {
  target: process.env["GATEWAY"] ?? "http://127.0.0.1:4000",
  // The gateway builds the addresses of downloads from the `Host` of the request: it has to be the page's.
  changeOrigin: false,
};

export default defineConfig({
  plugins: [react()],
  server: { proxy: { "/graphql": gateway, "/downloads": gateway, "/export": gateway } }, // `preview` takes it over
});
