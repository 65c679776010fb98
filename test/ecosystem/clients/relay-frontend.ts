import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery, printSchema } from "graphql";
import {
  createOperationDescriptor,
  Environment,
  fetchQuery,
  getFragment,
  getRequest,
  getSingularSelector,
  type GraphQLResponse,
  type GraphQLTaggedNode,
  Network,
  Observable,
  RecordSource,
  Store,
  type Variables,
} from "relay-runtime";
import { onTestFinished } from "vitest";
import { startDemoGateway, tokenOf } from "../../support/demo-gateway.ts";
import { partsOf } from "../../support/incremental.ts";

const COMPILER = fileURLToPath(new URL("../node_modules/relay-compiler/cli.js", import.meta.url));
const run = promisify(execFile);

/**
 * Compiles the documents of a frontend, by file name, against the schema that a gateway serves. Returns the artifacts by name.
 */
async function compile(schema: string, documents: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), "relay-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const artifacts = join(folder, "artifacts");
  await mkdir(join(folder, "src"));
  await mkdir(artifacts);
  const config = {
    src: "src",
    schema: "schema.graphql",
    artifactDirectory: "artifacts",
    language: "typescript",
    eagerEsModules: true,
    customScalarTypes: { DateTime: "string", JSON: "unknown", ParameterValue: "string | number | boolean" },
  };
  await writeFile(join(folder, "relay.config.json"), JSON.stringify(config));
  await writeFile(join(folder, "schema.graphql"), schema);
  for (const [name, document] of Object.entries(documents))
    await writeFile(join(folder, "src", `${name}.ts`), `graphql\`${document}\`;`);
  await run(process.execPath, [COMPILER, "relay.config.json"], { cwd: folder });
  return async (name: string): Promise<GraphQLTaggedNode> => {
    // The compiler exports nothing else.
    const { default: artifact } = await import(join(artifacts, `${name}.graphql.ts`));
    return artifact;
  };
}

/** Starts a gateway, and creates a Relay environment for ada with the artifacts of some documents. */
export async function startRelay(
  documents: Readonly<Record<string, string>>,
  env: Record<string, string> = {},
) {
  const { url, calls, demo } = await startDemoGateway({ env: { UPSTREAM_PROFILE: "polyaxon-0.4", ...env } });
  const authorization = `token ${tokenOf(demo, "ada")}`;
  const ask = async (query: string | null | undefined, variables: Variables = {}) => {
    const response = await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ query, variables }),
    });
    return response.json();
  };
  // The response to this query.
  const { data } = (await ask(getIntrospectionQuery())) as { data: IntrospectionQuery };
  const artifact = await compile(printSchema(buildClientSchema(data)), documents);
  /** The payloads of a result as Relay reads them: in the format of August 2022, one part at a time. */
  const inChunks = (query: string, variables: Variables) =>
    Observable.create<GraphQLResponse>((sink) => {
      const send = async () => {
        const response = await fetch(`${url}/graphql`, {
          method: "POST",
          headers: {
            authorization,
            "content-type": "application/json",
            accept: "multipart/mixed;deferSpec=20220824",
          },
          body: JSON.stringify({ query, variables }),
        });
        for await (const { incremental, hasNext, ...first } of partsOf(response))
          for (const part of incremental ?? [first])
            // Safe: in this format a part has data, path and label.
            sink.next({ ...part, extensions: { is_final: !hasNext } } as GraphQLResponse);
      };
      send().then(sink.complete, sink.error);
    });
  const environment = new Environment({
    network: Network.create(({ text }, variables) =>
      text?.includes("@defer") ? inChunks(text, variables) : ask(text, variables),
    ),
    store: new Store(new RecordSource()),
  });
  /** The data of a component's query from the store, without another request. */
  const look = async (name: string, variables: Variables) => {
    const operation = createOperationDescriptor(getRequest(await artifact(name)), variables);
    // Safe: the data of a query is an object of its fields.
    return environment.lookup(operation.fragment).data as Record<string, unknown>;
  };
  const load = async (name: string, variables: Variables) => {
    await fetchQuery(environment, await artifact(name), variables).toPromise();
    return look(name, variables);
  };
  /** The data of a component's fragment, for a record that its parent passes to it. */
  const read = async (name: string, of: unknown) => {
    const selector = getSingularSelector(getFragment(await artifact(name)), of);
    return selector && environment.lookup(selector).data;
  };
  return { environment, ask, calls, artifact, look, load, read };
}
