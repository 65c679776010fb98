import { type AddressInfo, Server as NetServer } from "node:net";
import pino, { type Logger } from "pino";
import { type Config, ConfigError, readConfig } from "./config.ts";
import type { Demo } from "./demo/service.ts";
import { createGateway, hasPage } from "./gateway.ts";
import { createHttpServer } from "./http/server.ts";
import { findMisspelled } from "./config/misspelled.ts";

const print = (text: string) => process.stdout.write(`${text}\n`);
const printError = (text: string) => process.stderr.write(`${text}\n`);

/** The service behind the gateway: `UPSTREAM_URL`, or the embedded demo. */
async function findUpstream({ UPSTREAM_URL }: Config) {
  if (UPSTREAM_URL) return { url: UPSTREAM_URL, demo: null };
  const { startDemo } = await import("./demo/service.ts");
  const demo = await startDemo({ activity: true });
  return { url: new URL(demo.url), demo };
}

const codeOf = (error: Error) => ("code" in error ? error.code : "unknown");

/** Wildcard addresses, and the loopback address that a local browser can open instead. */
const ALL_ADDRESSES: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** Prints a warning when the service cannot be reached. The gateway starts without it. */
async function warnUnlessReached(reached: Promise<void>): Promise<void> {
  try {
    await reached;
  } catch (error) {
    const code = error instanceof Error ? codeOf(error) : "unknown";
    printError(
      `Warning: UPSTREAM_URL cannot be reached (${code}). Until it can, answers are UPSTREAM_UNAVAILABLE.`,
    );
  }
}

/** Buffered log lines are written at this size in bytes, and at least this often in milliseconds. */
const LOG_BUFFER_BYTES = 4_096;
const LOG_FLUSH_MS = 200;

/** Maximum bytes of log lines that are kept while they cannot be written. Further lines are dropped. */
const MAX_LOG_BACKLOG_BYTES = 1_048_576;

/** Creates the log on standard output. It is buffered, because unbuffered writes take a tenth of a short operation. */
function createLog(level: Config["LOG_LEVEL"]): Logger {
  const lines = pino.destination({
    minLength: LOG_BUFFER_BYTES,
    maxLength: MAX_LOG_BACKLOG_BYTES,
    periodicFlush: LOG_FLUSH_MS,
    sync: true,
  });
  // Ignores a full disk or a closed pipe.
  lines.on("error", () => {});
  // `flushSync` would retry forever when lines cannot be written.
  process.on("exit", () => lines.flush());
  // No pid and host name: log collectors add their own.
  return pino({ level, base: null }, lines);
}

/** How long connections that look idle stay open on shutdown, in milliseconds: a request may be in transit. */
const GRACE_MS = 1_000;

async function main(config: Config): Promise<void> {
  const log = createLog(config.LOG_LEVEL);
  const { url, demo } = await findUpstream(config);
  const exampleToken = demo?.users[0]?.token;
  const gateway = createGateway({
    config,
    upstreamUrl: url,
    log,
    ...(exampleToken ? { exampleToken } : {}),
    ...(demo ? { profile: "polyaxon-0.4" } : {}),
  });
  const server = createHttpServer(gateway.handle).on("upgrade", gateway.upgrade);

  const cannotListen = (error: Error) => {
    printError(`Cannot listen on HOST ${config.HOST}, PORT ${config.PORT}: ${codeOf(error)}`);
    process.exit(1);
  };
  server.once("error", cannotListen);
  await new Promise<void>((ready) => server.listen(config.PORT, config.HOST, ready));
  // Later errors are about single connections that could not be accepted.
  server.on("error", (error) => log.error({ code: codeOf(error) }, "a connection was not accepted"));
  server.off("error", cannotListen);
  const stop = () => {
    // A second signal exits immediately.
    for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => process.exit(1));
    log.info("draining");
    gateway.drain();
    setTimeout(() => server.closeAllConnections(), config.DRAIN_TIMEOUT_MS).unref();
    // Stops listening only. `http.Server.close` would also close connections that look idle although a request is in
    // transit; those are closed after `GRACE_MS`.
    NetServer.prototype.close.call(server, async () => {
      await Promise.all([gateway.close(), demo?.close()]);
      process.exit(0);
    });
    setTimeout(() => setInterval(() => server.closeIdleConnections(), 100).unref(), GRACE_MS).unref();
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);

  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  const host = ALL_ADDRESSES[config.HOST] ?? config.HOST;
  welcome(`http://${host.includes(":") ? `[${host}]` : host}:${port}/graphql`, config, demo);
  if (!demo) void warnUnlessReached(gateway.reachUpstream());
}

type DemoAccounts = Pick<Demo, "users">;

function welcome(graphql: string, config: Config, demo: DemoAccounts | null): void {
  const isPageOn = hasPage(config);
  print(`\nRungraph is ready: ${graphql}${isPageOn ? "  (GraphiQL in a browser)" : ""}`);
  if (!demo) {
    print(`Every request needs the header  Authorization: token <your token>\n`);
    return;
  }
  const width = Math.max(...demo.users.map(({ username }) => username.length));
  print("\nThe embedded demo service is behind it. Sign in as");
  for (const { username, password, isSuperuser, isActive } of demo.users) {
    const note = isSuperuser ? "  (superuser)" : isActive ? "" : "  (waits to be activated by ada)";
    print(`  ${username.padEnd(width)}  password ${password}${note}`);
  }
  print(`\nor send this header${isPageOn ? " (GraphiQL has it already)" : ""}:`);
  print(`  Authorization: token ${demo.users[0]?.token}\n`);
  if (config.TRUSTED_DOCUMENTS) {
    print("Only the documents of TRUSTED_DOCUMENTS are run, by their hashes.\n");
    return;
  }
  print("One request to try:");
  print(
    `  curl ${graphql} -H 'content-type: application/json' -H 'authorization: token ${demo.users[0]?.token}' \\`,
  );
  print(
    `    -d '{"query":"{ experiment(id: \\"ada.mnist.42\\") { uniqueName status buildJob { uniqueName commit } } }"}'\n`,
  );
}

// A closed stdout or stderr must not end the process.
for (const output of [process.stdout, process.stderr]) output.on("error", () => {});

for (const { given, meant } of findMisspelled(process.env))
  printError(`Warning: ${given} is no setting and has no effect. Was ${meant} meant?`);
try {
  await main(readConfig(process.env));
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  printError(`The settings cannot be used:\n${error.message}`);
  process.exit(2);
}
