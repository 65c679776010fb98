import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The page and the gateway share an origin, so no CORS is needed. In production, use a proxy of your own. */
const gateway = {
  target: process.env["GATEWAY"] ?? "http://127.0.0.1:4000",
  // The gateway builds the URLs of downloads from the `Host` header, which has to be the page's.
  changeOrigin: false,
};

export default defineConfig({
  plugins: [react()],
  // `light-dark()` and nested rules need browsers of 2024 or newer.
  build: { cssTarget: ["chrome123", "firefox120", "safari17.5"], chunkSizeWarningLimit: 1_200 },
  server: { proxy: { "/graphql": gateway, "/downloads": gateway, "/export": gateway } }, // also used by `preview`
});
