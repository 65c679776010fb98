import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { createClient } from "graphql-ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { readPage } from "../../docs/page.ts";
import { BUILT } from "../../support/built.ts";
import { createAppFolder, startServer } from "./server.ts";

const JOB = "Sm9iOmFkYS9tbmlzdC8y";

/** Starts the server of a recipe, with optional changes. Returns functions that send requests to the server. */
async function startRecipe(program: string, change = (code: string) => code) {
  const folder = await createAppFolder(BUILT);
  const code = readPage("docs/recipes/embedding.md").blocks.find(({ file }) => file === program)?.text ?? "";
  await writeFile(join(folder, program), change(code));
  const server = await startServer(`node ${program}`, folder);
  const headers: Record<string, string> = { "content-type": "application/json" };
  const send = (query: string, accept = "application/json") =>
    fetch(`${server.url}/runs/graphql`, {
      method: "POST",
      headers: { ...headers, accept },
      body: JSON.stringify({ query }),
    });
  const ask = async (query: string) => (await (await send(query)).json()) as { data: never };
  /** Signs in as ada. */
  const signIn = async () => {
    const { data } = await ask(
      `mutation { login(input: { username: "ada", password: "ada-demo" }) { token } }`,
    );
    const { login } = data as { login: { token: string } };
    headers["authorization"] = `token ${login.token}`;
    return headers["authorization"];
  };
  return { ...server, headers, send, ask, signIn };
}

/** The first line that a server sends for a raw request. */
function firstLineOf(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(request));
    socket.once("data", (chunk) => {
      resolve(chunk.toString().split("\r\n", 1)[0] ?? "");
      socket.destroy();
    });
    socket.once("error", reject);
  });
}

describe.each(["express.mjs", "fastify.mjs"])("the gateway embedded in %s", (program) => {
  test("answers POST and GET beside the server's pages", async () => {
    const { url, ask, signIn, headers } = await startRecipe(program);
    await signIn();
    expect(await ask(`{ experiment(id: "ada.mnist.42") { status } }`)).toEqual({
      data: { experiment: { status: "SUCCEEDED" } },
    });
    const got = await fetch(`${url}/runs/graphql?query=${encodeURIComponent("{ viewer { username } }")}`, {
      headers: { authorization: headers["authorization"] ?? "" },
    });
    expect(await got.json()).toEqual({ data: { viewer: { username: "ada" } } });
    expect(await (await fetch(url)).text()).toBe("a page of mine\n");
    expect(await (await fetch(`${url}/runs/readyz`)).text()).toBe("ready\n");
    expect((await fetch(`${url}/runs/elsewhere`)).status).toBe(404);
    expect((await fetch(`${url}/graphql`)).status).toBe(404);
  });

  test("redirects the mount path to GraphiQL, and serves GraphiQL's files", async () => {
    const { url } = await startRecipe(program);
    const response = await fetch(`${url}/runs/`, { headers: { accept: "text/html" } });
    expect(response.url).toBe(`${url}/runs/graphql`);
    const files = [...(await response.text()).matchAll(/(?:src|href)="(graphiql\/[^"]+)"/g)];
    expect(files.length).toBeGreaterThan(4);
    for (const [, file = ""] of files) expect((await fetch(new URL(file, response.url))).status).toBe(200);
  });

  test("serves downloads at the URLs in its responses", async () => {
    const { url, ask, signIn } = await startRecipe(program);
    const authorization = await signIn();
    const { data } = await ask(`{ experiment(id: "ada.mnist.42") { logsUrl } }`);
    const { logsUrl } = (data as { experiment: { logsUrl: string } }).experiment;
    expect(logsUrl.startsWith(`${url}/runs/downloads/`)).toBe(true);
    const log = await fetch(logsUrl, { headers: { authorization } });
    expect(log.status).toBe(200);
    expect(await log.text()).toMatch(/^\d{4}-\d\d-\d\dT.* /);
  });

  test("ends event streams and exits when the server stops", async () => {
    const { send, signIn, kill, ended } = await startRecipe(program);
    await signIn();
    const response = await send(
      `subscription { runUpdated(id: "${JOB}") { run { status } } }`,
      "text/event-stream",
    );
    const text = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let seen = "";
    while (!seen.includes("RUNNING")) seen += (await text?.read())?.value ?? "";
    expect(seen).toBe(':\n\nevent: next\ndata: {"data":{"runUpdated":{"run":{"status":"RUNNING"}}}}\n\n');
    kill("SIGTERM");
    expect(await text?.read()).toEqual({ done: true, value: undefined });
    expect(await ended).toBe(0);
  });

  test("serves WebSocket subscriptions only at its own path", async () => {
    const { url, signIn } = await startRecipe(program);
    const client = createClient({
      url: `${url.replace("http", "ws")}/runs/graphql`,
      connectionParams: { authorization: await signIn() },
      webSocketImpl: WebSocket,
    });
    onTestFinished(() => client.dispose());
    const results = client.iterate({ query: `subscription { runUpdated(id: "${JOB}") { run { status } } }` });
    expect((await results.next()).value).toEqual({ data: { runUpdated: { run: { status: "RUNNING" } } } });
    await results.return?.();
    const { host } = new URL(url);
    const upgrade =
      "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==";
    for (const path of ["/graphql", "/runs/elsewhere"])
      expect(await firstLineOf(url, `GET ${path} HTTP/1.1\r\nhost: ${host}\r\n${upgrade}\r\n\r\n`)).toBe(
        "HTTP/1.1 404 Not Found",
      );
  });

  test("answers clients that offer HTTP/2, including requests for the server's pages", async () => {
    const { url } = await startRecipe(program);
    const offer = "connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__";
    for (const path of ["/", "/runs/healthz"])
      expect(
        await firstLineOf(url, `GET ${path} HTTP/1.1\r\nhost: ${new URL(url).host}\r\n${offer}\r\n\r\n`),
      ).toBe("HTTP/1.1 200 OK");
  });
});

describe("a body that the server reads before the gateway", () => {
  const QUERY = "{ __typename }";

  test("is accepted from Express, and counts towards the body limit", async () => {
    const { ask, url, headers } = await startRecipe("express.mjs", (code) =>
      code.replace("app.use(", `app.use(express.json({ limit: "9mb" }));\napp.use(`),
    );
    expect(await ask(QUERY)).toEqual({ data: { __typename: "Query" } });
    // The length of the response is not announced.
    const body = new Blob([JSON.stringify({ query: "x".repeat(300_000) })]).stream();
    const sent = { method: "POST", headers, body, duplex: "half" } as const;
    expect((await fetch(`${url}/runs/graphql`, sent)).status).toBe(413);
  });

  test.each([
    {
      program: "express.mjs",
      change: (code: string) =>
        code.replace(
          "app.use(",
          "app.use((request, _, next) => request.resume().once('end', next));\napp.use(",
        ),
    },
    {
      program: "fastify.mjs",
      change: (code: string) => code.replace(/ {2}scope\.(?:remove|add)ContentType.*\n|.*removeAll.*\n/g, ""),
    },
  ])("and does not forward causes a clear error: $program", async ({ program, change }) => {
    const { send } = await startRecipe(program, change);
    const response = await send(QUERY);
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({
      errors: [
        {
          message: "Expected an unread body, got one that the server had already read.",
          extensions: { code: "INTERNAL_SERVER_ERROR", requestId: expect.any(String) },
        },
      ],
    });
  });
});
