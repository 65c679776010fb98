import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { PATHS } from "../../src/http/paths.ts";
import { startFake } from "../support/fake.ts";
import { ADDRESSES } from "../support/listen.ts";
import { LONG_TIMEOUT } from "../support/long-timeout.ts";
import { sendPlainly } from "../support/raw-requests.ts";
import { type BalancerName, isInstalled, runBalancer } from "../support/run-balancer.ts";

const ROOT = new URL("../../", import.meta.url);
const NAMES: readonly BalancerName[] = ["nginx", "haproxy"];

/** The files of `deploy/` and the code blocks of the documentation, each with its location. */
function samples(): { readonly place: string; readonly text: string }[] {
  const filesIn = (folder: string) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(?:md|conf|cfg|ya?ml)$/.test(entry.name))
      .map(({ parentPath, name }) => `${parentPath}/${name}`.replace(/\/+/g, "/"));
  const pages = [...filesIn("docs"), "README.md", "SECURITY.md"];
  const read = (path: string) => readFileSync(new URL(path, ROOT), "utf8");
  const blocks = pages.flatMap((place) =>
    [...read(place).matchAll(/^```\w*\n(.*?)^```$/gms)].map(([, text = ""]) => ({ place, text })),
  );
  return [...filesIn("deploy").map((place) => ({ place, text: read(place) })), ...blocks];
}

/** Matches a configuration of a proxy: nginx, HAProxy, an ingress, Apache, Caddy, Envoy or Traefik. */
const PROXY =
  /^\s*(?:proxy_pass |backend |kind: Ingress$|ProxyPass |reverse_proxy |route_config:|loadBalancer:)/m;

/** Ways in which proxies set `X-Forwarded-For` and clear `Forwarded`, including a comment for controllers that need another way. */
const NAMES_CLIENT = /X-Forwarded-For|option forwardfor|kind: Ingress/;
const CLEARS_OTHER = /proxy_set_header Forwarded "";|http-request del-header Forwarded|`Forwarded: ""`/;

test("each sample proxy sets one client address header and clears the other", () => {
  const proxies = samples().filter(({ text }) => PROXY.test(text));
  expect(proxies.map(({ place }) => place.split("/").at(-1)).toSorted()).toEqual([
    "haproxy.cfg",
    "ingress.yaml",
    "nginx.conf",
  ]);
  const wrong = proxies.filter(({ text }) => !NAMES_CLIENT.test(text) || !CLEARS_OTHER.test(text));
  expect(wrong.map(({ place }) => place)).toEqual([]);
});

/** Paths that need no token, so a proxy must not expose them. */
const OFF: readonly string[] = [PATHS.metrics, PATHS.alive, PATHS.ready];

/** Every other path, and each endpoint with a slash. */
const SERVED = [
  ...Object.values(PATHS).filter((path) => !OFF.includes(path)),
  `${PATHS.graphql}/`,
  `${PATHS.mcp}/`,
];

test("each sample proxy forwards every gateway path, or explains why not", () => {
  const proxies = samples().filter(({ text }) => PROXY.test(text));
  const missing = proxies.map(({ place, text }) => {
    const comments = text.match(/#.*/g)?.join(" ") ?? "";
    const settings = text.replaceAll(/#.*/g, "");
    const has = (within: string, path: string) =>
      new RegExp(`[\\s|(:/]${path.replaceAll("/", "") || "/"}(?![\\w-])`).test(within);
    const isThere = (path: string) => has(comments, path) || (!OFF.includes(path) && has(settings, path));
    return [place, Object.values(PATHS).filter((path) => !isThere(path))];
  });
  expect(missing).toEqual(proxies.map(({ place }) => [place, []]));
});

describe.each(NAMES.filter(isInstalled))("%s with its file in deploy/", (name) => {
  test("clears Forwarded from clients, forwards long tokens, and listens on IPv6", async () => {
    const service = await startFake(() => ({ json: { data: {} } }));
    const balancer = await runBalancer(name, Array<number>(4).fill(service.port));
    onTestFinished(balancer.stop);
    await vi.waitFor(balancer.check, LONG_TIMEOUT);
    const before = service.seen().length;
    const authorization = `token ${"x".repeat(12_000)}`;
    const forged = { Forwarded: "for=203.0.113.7", "X-Forwarded-For": "203.0.113.7" };
    for (const host of ADDRESSES) {
      const url = `http://${host}:${balancer.port}/graphql?query={__typename}`;
      const { status } = await sendPlainly(url, { headers: { authorization, ...forged } });
      expect([host, status]).toEqual([host, 200]);
    }
    const seen = service.seen().slice(before);
    expect(seen.map(({ headers }) => headers)).toEqual(
      ADDRESSES.map(() =>
        expect.objectContaining({
          authorization,
          "x-forwarded-for": expect.stringMatching(
            /^203\.0\.113\.7, (?:::ffff:)?127\.0\.0\.1$|, ::1$/,
          ) as string,
        }),
      ),
    );
    expect(seen.filter(({ headers }) => "forwarded" in headers)).toEqual([]);
  });

  test("forwards every gateway path except the metrics and the probes", async () => {
    const service = await startFake(() => ({ json: {} }));
    const balancer = await runBalancer(name, Array<number>(4).fill(service.port));
    onTestFinished(balancer.stop);
    await vi.waitFor(balancer.check, LONG_TIMEOUT);
    const statusOf = async (path: string) => [path, (await sendPlainly(balancer.url + path, {})).status];
    const answered = (paths: readonly string[], status: number) => paths.map((path) => [path, status]);
    expect(await Promise.all(SERVED.map(statusOf))).toEqual(answered(SERVED, 200));
    const others = [...OFF, "/graphqlx", "/x"];
    expect(await Promise.all(others.map(statusOf))).toEqual(answered(others, 404));
  });
});
