import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The page and the gateway share an address, so no CORS is needed; in production, a proxy of yours does this. */
const gateway = process.env["GATEWAY"] ?? "http://127.0.0.1:4000";

export default defineConfig({
  plugins: [react()],
  server: { proxy: { "/graphql": gateway, "/downloads": gateway } }, // `preview` takes it over
});
