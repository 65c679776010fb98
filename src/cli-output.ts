import {
  type Config,
  ConfigError,
  documentWarnings,
  hasPage,
  readConfig,
  readTypeNames,
  warningsOf,
} from "./config.ts";
import type { Demo } from "../demo/service.ts";
import { printPlain, printSubgraph } from "./graphql/federation/subgraph.ts";
import { schemaFor } from "./graphql/schema.ts";
import { SEVERITIES } from "./observability/log.ts";

const LEVELS = { info: 30, warn: 40, fatal: 60 };

/**
 * Prints a message for operators. Prints `text` on a terminal, and otherwise a JSON line in the format of the log, with the message and
 * `fields`.
 */
export function printLine(
  level: keyof typeof LEVELS,
  message: string,
  fields: object = {},
  text = message,
  isForPeople = process.stdout.isTTY,
): void {
  const line = {
    level: LEVELS[level],
    severity: SEVERITIES[level],
    time: Date.now(),
    ...fields,
    msg: message,
  };
  const output = level === "info" ? process.stdout : process.stderr;
  output.write(`${isForPeople ? text : JSON.stringify(line)}\n`);
}

export function printIssues({ message }: ConfigError, isForPeople = process.stdout.isTTY): void {
  const summary = "The settings cannot be used";
  printLine("fatal", summary, { faults: message.split("\n") }, `${summary}:\n${message}`, isForPeople);
}

/** Prints the string that `read` creates from the environment, or the issues of the settings. Returns the exit code. */
function printed(read: (environment: NodeJS.ProcessEnv) => string): number {
  try {
    process.stdout.write(read(process.env));
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printIssues(error, true);
    return 1;
  }
}

/** Prints whether the gateway would start with the settings of the environment. Returns the exit code. */
export const checkConfig = (): number =>
  printed((environment) => {
    const config = readConfig(environment);
    const warnings = [...warningsOf(environment, config), ...documentWarnings(config)];
    for (const text of warnings) process.stderr.write(`Warning: ${text}\n`);
    return "ok\n";
  });

/** Prints the schema or, with the option `print-subgraph`, the subgraph. Returns the exit code. */
export const printSchema = (option: string): number => {
  const print = option === "print-subgraph" ? printSubgraph : printPlain;
  return printed((environment) => print(schemaFor(readTypeNames(environment))));
};

/** Wildcard addresses. A browser on this machine can open 127.0.0.1 instead. */
const ALL_ADDRESSES = new Set(["0.0.0.0", "::"]);

/** Prints where the gateway listens and, with the demo, how to sign in. */
export function welcome(config: Config, port: number, demo: Pick<Demo, "users"> | null): void {
  const host = ALL_ADDRESSES.has(config.HOST) ? "127.0.0.1" : config.HOST;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}/graphql`;
  const page = hasPage(config);
  const users = demo?.users.map(({ username, password }) => ({ username, password }));
  const fields = { url, page, ...(demo && { demo: { token: demo.users[0]?.token, users } }) };
  const ready = `Rungraph is ready: ${url}`;
  const signIn = demo
    ? signInText(config, url, demo)
    : "Every request needs the header  Authorization: token <your token>";
  printLine("info", ready, fields, `\n${ready}${page ? "  (GraphiQL in a browser)" : ""}\n${signIn}\n`);
}

function signInText(config: Config, url: string, { users }: Pick<Demo, "users">): string {
  const token = users[0]?.token;
  const width = Math.max(...users.map(({ username }) => username.length));
  const rows = users.map(({ username, password, isSuperuser, isActive }) => {
    const remark = isSuperuser ? "  (superuser)" : isActive ? "" : "  (waits to be activated by ada)";
    return `  ${username.padEnd(width)}  password ${password}${remark}`;
  });
  const example = config.TRUSTED_DOCUMENTS
    ? "Only the documents of TRUSTED_DOCUMENTS are run, by their hashes."
    : `One request to try:
  curl ${url} -H 'content-type: application/json' -H 'authorization: token ${token}' \\
    -d '{"query":"{ experiment(id: \\"ada.mnist.42\\") { uniqueName status buildJob { uniqueName commit } } }"}'`;
  return `
The embedded demo service is behind it. Sign in as
${rows.join("\n")}

or send this header${hasPage(config) ? " (GraphiQL has it already)" : ""}:
  Authorization: token ${token}

${example}`;
}
