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
  // `light-dark()` and nested rules are for browsers of 2024 and newer.
  build: { cssTarget: ["chrome123", "firefox120", "safari17.5"], chunkSizeWarningLimit: 1_200 },
  server: { proxy: { "/graphql": gateway, "/downloads": gateway, "/export": gateway } }, // `preview` takes it over
});
