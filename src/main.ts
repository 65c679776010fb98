import { type AddressInfo, Server as NetServer } from "node:net";
import pino, { type Logger } from "pino";
import { type Config, ConfigError, readConfig } from "./config.ts";
import type { Demo } from "./demo/service.ts";
import { createGateway, hasPage } from "./gateway.ts";
import { createHttpServer } from "./http/server.ts";
import { findMisspelled } from "./config/misspelled.ts";

const say = (text: string) => process.stdout.write(`${text}\n`);
const complain = (text: string) => process.stderr.write(`${text}\n`);

/** The service behind the gateway: the one that is named, or a demo of our own. */
async function findUpstream({ UPSTREAM_URL }: Config) {
  if (UPSTREAM_URL) return { url: UPSTREAM_URL, demo: null };
  const { startDemo } = await import("./demo/service.ts");
  const demo = await startDemo({ activity: true });
  return { url: new URL(demo.url), demo };
}

const codeOf = (fault: Error) => ("code" in fault ? fault.code : "unknown");

/** Addresses that stand for all of a machine, and one of them that a browser on it can open. */
const ALL_ADDRESSES: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** The service may come later: the gateway starts without it. */
async function warnUnlessReached(reached: Promise<void>): Promise<void> {
  try {
    await reached;
  } catch (fault) {
    const code = fault instanceof Error ? codeOf(fault) : "unknown";
    complain(
      `Warning: UPSTREAM_URL cannot be reached (${code}). Until it can, answers are UPSTREAM_UNAVAILABLE.`,
    );
  }
}

/** Bytes of log lines that are collected before they are written, and how long they may wait for that, in milliseconds. */
const LOG_BUFFER_BYTES = 4_096;
const LOG_FLUSH_MS = 200;

/** Log lines on standard output, many at a time: writing each for itself takes a tenth of a short operation. */
function createLog(level: Config["LOG_LEVEL"]): Logger {
  const lines = pino.destination({ minLength: LOG_BUFFER_BYTES, periodicFlush: LOG_FLUSH_MS, sync: true });
  process.on("exit", () => lines.flushSync());
  // Whoever collects the lines knows which process wrote them.
  return pino({ level, base: null }, lines);
}

/** How long a request may be on its way in a connection that looks idle, in milliseconds. */
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
  const server = createHttpServer(gateway.handle);

  const cannotListen = (fault: Error) => {
    complain(`Cannot listen on HOST ${config.HOST}, PORT ${config.PORT}: ${codeOf(fault)}`);
    process.exit(1);
  };
  server.once("error", cannotListen);
  await new Promise<void>((ready) => server.listen(config.PORT, config.HOST, ready));
  // From here on an error is a connection that could not be accepted: the others go on.
  server.on("error", (fault) => log.error({ code: codeOf(fault) }, "a connection was not accepted"));
  server.off("error", cannotListen);
  // A server that listens on TCP has an address of this form.
  const { port } = server.address() as AddressInfo;
  const host = ALL_ADDRESSES[config.HOST] ?? config.HOST;
  welcome(`http://${host.includes(":") ? `[${host}]` : host}:${port}/graphql`, config, demo);
  if (!demo) void warnUnlessReached(gateway.reachUpstream());

  const stop = () => {
    // A second signal ends it at once.
    for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => process.exit(1));
    log.info("draining");
    gateway.drain();
    setTimeout(() => server.closeAllConnections(), config.DRAIN_TIMEOUT_MS).unref();
    // Only the listening ends: `http.Server.close` would also cut connections that look idle while a request is on
    // its way in them. Those get their answer, and are idle for good a moment later.
    NetServer.prototype.close.call(server, async () => {
      await Promise.all([gateway.close(), demo?.close()]);
      process.exit(0);
    });
    setTimeout(() => setInterval(() => server.closeIdleConnections(), 100).unref(), GRACE_MS).unref();
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
}

type DemoAccounts = Pick<Demo, "users">;

function welcome(graphql: string, config: Config, demo: DemoAccounts | null): void {
  const isPageOn = hasPage(config);
  say(`\nRungraph is ready: ${graphql}${isPageOn ? "  (GraphiQL in a browser)" : ""}`);
  if (!demo) {
    say(`Every request needs the header  Authorization: token <your token>\n`);
    return;
  }
  const width = Math.max(...demo.users.map(({ username }) => username.length));
  say("\nThe embedded demo service is behind it. Sign in as");
  for (const { username, password, isSuperuser, isActive } of demo.users) {
    const note = isSuperuser ? "  (superuser)" : isActive ? "" : "  (waits to be activated by ada)";
    say(`  ${username.padEnd(width)}  password ${password}${note}`);
  }
  say(`\nor send this header${isPageOn ? " (GraphiQL has it already)" : ""}:`);
  say(`  Authorization: token ${demo.users[0]?.token}\n`);
  if (config.TRUSTED_DOCUMENTS) {
    say("Only the documents of TRUSTED_DOCUMENTS are run, by their hashes.\n");
    return;
  }
  say("One request to try:");
  say(
    `  curl ${graphql} -H 'content-type: application/json' -H 'authorization: token ${demo.users[0]?.token}' \\`,
  );
  say(
    `    -d '{"query":"{ experiment(id: \\"ada.mnist.42\\") { uniqueName status buildJob { uniqueName commit } } }"}'\n`,
  );
}

for (const { given, meant } of findMisspelled(process.env))
  complain(`Warning: ${given} is no setting and has no effect. Was ${meant} meant?`);
try {
  await main(readConfig(process.env));
} catch (fault) {
  if (!(fault instanceof ConfigError)) throw fault;
  complain(`The settings cannot be used:\n${fault.message}`);
  process.exit(2);
}
