import { runKinds } from "../../src/rest/api/kinds.ts";
import { formatReference } from "../../src/rest/api/reference.ts";
import { type ContractRow, contractRows } from "./contract.ts";
import { globalId } from "./ids.ts";
import given from "./command-inputs.json" with { type: "json" };

/** A mutation with example arguments, and the upstream request that it causes. */
export type Command = ReturnType<typeof commandOf>;

/** The numbers of the examples, by upstream folder. For a folder that is missing here, the example in the row of the kind is used. */
const NUMBERS: Readonly<Record<string, string>> = given.numbers;

/** An example of each kind, by its upstream folder. */
const EXAMPLES: Readonly<Record<string, { kind: string; name: string; number: string }>> = Object.fromEntries(
  runKinds.map(({ name: kind, endpoints, reference, example }) => {
    const folder = endpoints.read.path.split("/")[2] ?? "";
    const number = NUMBERS[folder] ?? example;
    const name = formatReference({ owner: "ada", project: "mnist", id: number }, reference);
    return [folder, { kind, name, number }];
  }),
);

/** Inputs of mutations in addition to the name of the record. */
const INPUTS: Readonly<Record<string, { argument?: string; graphql: string; body: object }>> = given.inputs;

function commandOf({ row, method, path, content }: ContractRow, name: string) {
  const example = EXAMPLES[path.split("/")[2] ?? ""];
  const input: (typeof INPUTS)[string] | undefined = method === "PATCH" ? given.update : INPUTS[name];
  const args = [
    ...(example ? [`id: "${example.name}"`] : []),
    ...(path.includes("{username}") ? [`username: "linus"`] : []),
    ...(input ? [`${input.argument ?? "input"}: ${input.graphql}`] : []),
    // Without `force`, the mutation would read the run first.
    ...(path.endsWith("{id}/stop") ? ["force: true"] : []),
  ];
  return {
    /** The row of the document: `POST {u}/{p}/jobs/{id}/stop`. */
    row,
    /** The name of the mutation, such as `stopJob`. */
    name,
    /** The field, such as `stopJob(id: "ada.mnist.jobs.5", force: true)`. */
    mutation: `${name}(${args.join(", ")})`,
    method,
    /** The upstream path, such as `ada/mnist/jobs/5/stop`. */
    path: path
      .replace("{u}/{p}", "ada/mnist")
      .replace("{username}", "linus")
      .replace(/\{\w+\}/, example?.number ?? ""),
    body: input?.body,
    /** Whether the document describes no response. */
    isSilent: content === "nothing",
    /** The kind of run that the command changes; null for users. */
    kind: example?.kind ?? null,
    /** The field of the payload with the record. */
    field: (example?.kind ?? "user").replace(/^./, (letter) => letter.toLowerCase()),
  };
}

/** Every mutation of one record, in the order of the document. `several-runs.test.ts` has `bookmarkRuns`. */
export const commands = contractRows.flatMap((row) =>
  row.mutation === null || row.mutation === "bookmarkRuns" ? [] : [commandOf(row, row.mutation)],
);

/** Commands for which the document describes no response. */
export const silentCommands = commands.filter(({ isSilent }) => isSilent);

export function commandCalled(name: string): Command {
  const found = commands.find((command) => command.name === name);
  if (!found) throw new TypeError(`no command is called ${name}`);
  return found;
}

/** The route of a command as errors name it, with the gateway's names of path parameters. */
export const routeOf = ({ row }: Command): string =>
  row
    .slice(row.indexOf(" ") + 1)
    .replace("{u}/{p}", "{owner}/{project}")
    .replace(/\{(experiment|job)_id\}/, "{id}");

/** The global id of the record that a command changes. */
export function idOf({ path, kind }: Command): string {
  const [owner, project, , id] = path.split("/");
  return globalId(`${kind}:${owner}/${project}/${id}`);
}

/** The request of a command: `POST ada/mnist/jobs/5/stop`. */
export const callOf = ({ method, path }: Command): string => `${method} ${path}`;
