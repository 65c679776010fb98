import { describe, expect, test } from "vitest";
import { startDemoGateway, startDemoService } from "../support/demo-gateway.ts";
import { startGateway } from "../support/gateway.ts";
import { READABLE_HEADERS, sendTo } from "../support/raw-requests.ts";

const APP_ORIGIN = "https://app.example";

describe("pages of other origins", () => {
  const asking = (url: string, path: string, origin: string) =>
    sendTo(url + path, { method: "GET", headers: { origin, accept: "application/json" } });
  const DOWNLOAD = "/downloads/Sm9iOmFkYS9tbmlzdC8y/logs";
  const PATHS = ["/graphql?query={__schema{types{name}}}", DOWNLOAD];

  test.each(PATHS)("may not request %s while no origin is allowed", async (path) => {
    const { url } = await startGateway({ upstream: await startDemoService(), token: null });
    const headers = { origin: APP_ORIGIN, "access-control-request-method": "POST" };
    for (const method of ["GET", "OPTIONS"]) {
      const { headers: reported } = await sendTo(url + path, { method, headers });
      expect([...reported.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
    }
  });

  test.each(PATHS)("may request %s when their exact origin is allowed", async (path) => {
    const { url } = await startDemoGateway({ env: { CORS_ORIGINS: `${APP_ORIGIN}, http://localhost:5173` } });
    for (const origin of [APP_ORIGIN, "http://localhost:5173"]) {
      const { headers } = await asking(url, path, origin);
      expect(headers.get("access-control-allow-origin")).toBe(origin);
      expect(headers.get("vary")?.toLowerCase()).toBe(
        path === DOWNLOAD ? "origin" : "origin, accept-encoding",
      );
    }
    const { headers: readable } = await asking(url, path, APP_ORIGIN);
    expect(readable.get("access-control-expose-headers")?.split(",").toSorted()).toEqual(READABLE_HEADERS);
    const others = ["https://evil.example", "http://app.example", "null"];
    for (const origin of [...others, `${APP_ORIGIN}.evil.example`, `${APP_ORIGIN}:8443`]) {
      const { headers } = await asking(url, path, origin);
      expect(headers.has("access-control-allow-origin")).toBe(false);
    }
  });

  test("get a preflight response that allows any header but no credentials", async () => {
    const { url, calls } = await startDemoGateway({ env: { CORS_ORIGINS: APP_ORIGIN } });
    // Includes headers that monitoring adds.
    const asked = "authorization,baggage,content-type,sentry-trace,tracestate,x-datadog-trace-id";
    const wanted = { "access-control-request-method": "POST", "access-control-request-headers": asked };
    const preflight = (origin: string) =>
      sendTo(`${url}/graphql`, { method: "OPTIONS", headers: { origin, ...wanted } });
    const { status, headers, text } = await preflight(APP_ORIGIN);
    expect([status, text, Object.fromEntries(headers)]).toMatchObject([
      204,
      "",
      {
        "access-control-allow-origin": APP_ORIGIN,
        "access-control-allow-methods": "GET,POST",
        "access-control-allow-headers": asked,
        vary: "Origin, Access-Control-Request-Headers",
      },
    ]);
    expect(headers.has("access-control-allow-credentials")).toBe(false);
    // Pages of allowed origins can read the response to a rejected request as well.
    const refused = await sendTo(`${url}/graphql`, { body: "x", headers: { origin: APP_ORIGIN } });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([415, APP_ORIGIN]);
    expect((await preflight("https://evil.example")).headers.has("access-control-allow-origin")).toBe(false);
    expect(calls()).toEqual([]);
  });

  test("on a loopback host may query the demo", async () => {
    const { url } = await startDemoGateway();
    const own = "http://localhost:5173 http://127.0.0.1:3000 https://[::1] http://localhost".split(" ");
    const others = [APP_ORIGIN, "http://localhost.evil.example", "http://evil.example:127.0.0.1", "null"];
    for (const origin of [...own, ...others]) {
      const allowed = (await asking(url, PATHS[0] ?? "", origin)).headers.get("access-control-allow-origin");
      expect([origin, allowed]).toEqual([origin, own.includes(origin) ? origin : null]);
    }
  });
});
