import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { startDemoGateway } from "../support/demo-gateway.ts";
import { startFake } from "../support/fake.ts";
import { startGateway } from "../support/gateway.ts";
import { sendPlainly } from "../support/raw-requests.ts";

const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const SAFE = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

const get = (url: string, headers: Record<string, string> = {}, method = "GET") =>
  sendPlainly(url, { method, headers });

const openPage = async (url: string) => (await get(`${url}/graphql`, HTML)).body.toString();

interface Settings {
  readonly token: string | null;
  readonly welcome: string;
  readonly operations: { readonly variables: string }[];
  readonly destructive: Readonly<Record<string, string>>;
  readonly secretFields: string[];
}

const settingsIn = (html: string): Settings =>
  JSON.parse(/<script type="application\/json"[^>]*>([^<]*)<\/script>/.exec(html)?.[1] ?? "");

test("GET and HEAD of / redirect to GraphQL, also below proxy paths", async () => {
  const { url } = await startDemoGateway();
  for (const method of ["GET", "HEAD"]) {
    const { status, headers } = await get(`${url}/?x=1`, HTML, method);
    expect([status, headers["location"]]).toEqual([307, "graphql"]);
  }
});

describe("the GraphiQL page", () => {
  test("is uncacheable, cannot be framed, and runs only its own script files", async () => {
    const { url } = await startDemoGateway();
    const { status, headers, body } = await get(`${url}/graphql`, HTML);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      ...SAFE,
      "content-type": "text/html; charset=utf-8",
      "cache-control": "private, no-store",
    });
    expect(headers["content-security-policy"]).not.toMatch(/script-src[^;]*(?:unsafe|blob|data|http)/);
    const html = body.toString();
    expect(html).not.toMatch(/ on\w+=|https?:|javascript:/i);
    const [settings, ...scripts] = [...html.matchAll(/<script ([^>]*)>/g)].map(([, words = ""]) => words);
    expect(settings).toBe('type="application/json" id="settings"');
    expect(scripts.filter((each) => !/^src="graphiql\/[a-z]+\.[\w-]{16}\.js"$/.test(each))).toEqual([]);
  });

  test("loads compressed, content-hashed files that are cached as immutable", async () => {
    const { url } = await startDemoGateway();
    // The assets include the workers of the page.
    const assets = new Set((await openPage(url)).match(/(?<=")graphiql\/[^"]+(?=")/g));
    expect(assets.size).toBe(20);
    let sent = 0;
    for (const path of assets) {
      const { status, headers, body } = await get(`${url}/${path}`, { "accept-encoding": "gzip, br" });
      expect(status).toBe(200);
      expect(headers).toMatchObject({
        ...SAFE,
        "content-type": expect.stringMatching(/^(?:text\/javascript|text\/css|image\/svg\+xml)/),
        "content-encoding": "gzip",
        "content-length": String(body.length),
        "cache-control": "public, max-age=31536000, immutable",
        vary: "accept-encoding",
      });
      const content = gunzipSync(body);
      expect(path).toContain(createHash("sha256").update(content).digest("base64url").slice(0, 16));
      sent += body.length;
      const plain = await get(`${url}/${path}`);
      expect(plain.headers).not.toHaveProperty("content-encoding");
      expect(plain.body.equals(content)).toBe(true);
    }
    expect(sent).toBeLessThan(3_000_000);
  });

  test.each(["", "x", "graphiql.js", "../package.json", "..%2fpackage.json", "graphiql.AAAAAAAAAAAAAAAA.js"])(
    "has no file %j",
    async (name) => {
      const { url } = await startDemoGateway();
      const { status, body } = await get(`${url}/graphiql/${name}`);
      expect([status, body.toString()]).toEqual([404, "not found\n"]);
    },
  );

  test("for the demo starts with a token and an operation without variables", async () => {
    const { url, demo, ask } = await startDemoGateway();
    const { token, welcome, operations } = settingsIn(await openPage(url));
    expect(token).toBe(demo.users[0]?.token);
    expect(welcome).toContain("ada.mnist.42");
    expect(operations.map(({ variables }) => variables).join("")).toContain("ada.mnist.42");
    expect(welcome).not.toContain("$");
    expect((await ask(welcome)).errors).toBeUndefined();
  });

  test("for a real server contains no token and no demo data", async () => {
    const { url } = await startGateway({ upstream: await startFake(() => undefined) });
    const html = await openPage(url);
    expect(settingsIn(html).token).toBeNull();
    expect(html).not.toMatch(/\b(?:ada|grace|linus|margaret|mnist)\b|-demo|RXhwZXJpbWVudD/);
  });

  test("contains the fields that take a secret, as marked in the schema", async () => {
    const { secretFields } = settingsIn(await openPage((await startDemoGateway()).url));
    expect(secretFields).toEqual(["login"]);
  });

  test("marks deletions and administrative mutations as destructive", async () => {
    const { destructive } = settingsIn(await openPage((await startDemoGateway()).url));
    const deletions = "BuildJob Experiment Group Job Project Runs User".split(" ");
    const others = ["activateUser", "grantSuperuser", "revokeSuperuser"];
    expect(new Set(Object.keys(destructive))).toEqual(
      new Set([...deletions.map((kind) => `delete${kind}`), ...others]),
    );
    expect(destructive).toMatchObject({
      deleteGroup: "Deletes a group. Its experiments are deleted as well.",
      grantSuperuser: "Gives a user the superuser role.",
    });
  });
});
